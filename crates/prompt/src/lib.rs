//! Choose, budget, order and render model context, pure.

//! The agent of launchd.

use super::{MARK, ServiceSpec};
use std::path::Path;

/// Renders the property list of a host. It is started again after a failure, and its commands are left alone when it
/// stops.
pub(super) fn plist(spec: &ServiceSpec) -> String {
    let words: String = spec
        .command
        .iter()
        .map(|word| format!("    <string>{}</string>\n", escape(word)))
        .collect();
    let (name, log) = (
        escape(&spec.name),
        escape(&spec.log_path.display().to_string()),
    );
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
         <!-- {MARK}; holon service uninstall removes it. -->\n\
         <plist version=\"1.0\">\n\
         <dict>\n\
         \x20 <key>Label</key>\n\
         \x20 <string>{name}</string>\n\
         \x20 <key>ProgramArguments</key>\n\
         \x20 <array>\n\
         {words}\
         \x20 </array>\n\
         \x20 <key>RunAtLoad</key>\n\
         \x20 <true/>\n\
         \x20 <key>KeepAlive</key>\n\
         \x20 <dict>\n\
         \x20   <key>SuccessfulExit</key>\n\
         \x20   <false/>\n\
         \x20 </dict>\n\
         \x20 <key>AbandonProcessGroup</key>\n\
         \x20 <true/>\n\
         \x20 <key>StandardErrorPath</key>\n\
         \x20 <string>{log}</string>\n\
         </dict>\n\
         </plist>\n"
    )
}

/// Commands that start, restart, stop and watch an agent.
pub(super) fn commands(path: &Path, name: &str) -> Vec<String> {
    let path = path.display();
    vec![
        format!("launchctl load -w '{path}'"),
        format!("launchctl kickstart -k gui/$(id -u)/{name}"),
        format!("launchctl unload -w '{path}'"),
        "holon daemon logs --follow".to_owned(),
    ]
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_escaped_and_stay_apart() {
        let spec = ServiceSpec {
            name: "holon.host".into(),
            command: vec!["/bin/holon".into(), "serve".into(), "/a & <b>".into()],
            log_path: "/h/run/daemon.log".into(),
        };
        let text = plist(&spec);
        assert!(
            text.contains(
                "    <string>serve</string>\n    <string>/a &amp; &lt;b&gt;</string>\n  </array>"
            ),
            "{text}"
        );
        assert!(
            text.contains("<key>AbandonProcessGroup</key>\n  <true/>"),
            "{text}"
        );
    }
}

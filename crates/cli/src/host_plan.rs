//! The settings, options and token of a host that is about to be started.

use crate::args::HostArgs;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::{path, secret, settings};
use holon_config::{Access, Flags, HostOptions, Settings, Token, TokenError, TokenOption};
use holon_daemon::EffectiveConfig;
use holon_daemon::lifecycle::WantedHost;
use std::path::{Path, PathBuf};

/// Name of the file that stands for standard input.
const STDIN: &str = "-";

/// Everything that a host is started with.
#[derive(Debug)]
pub(crate) struct HostPlan {
    pub(crate) settings: Settings,
    pub(crate) flags: Flags,
    pub(crate) options: HostOptions,
    pub(crate) access: Access,
    /// Token of the operator; absent if the host uses its own.
    pub(crate) token: Option<Token>,
}

impl HostPlan {
    /// Loads the settings and judges the options. A token on the command line is taken with a warning.
    pub(crate) fn load(
        home: Option<PathBuf>,
        args: HostArgs,
        output: &Output,
    ) -> Result<Self, Failure> {
        if args.token.is_some() {
            output.note(
                "warning: other processes can read --token in the list of processes; use --token-file FILE",
            );
        }
        let token = read_control_token(&args, output)?;
        let options = options(args)?;
        let flags = flags(home, &options);
        let (settings, access) = load(&flags, &options)?;
        holon_daemon::check_exposure(&access)?;
        Ok(Self {
            settings,
            flags,
            options,
            access,
            token,
        })
    }

    /// Directory of the host.
    pub(crate) fn home(&self) -> &Path {
        &self.settings.home.value
    }

    /// What a running host must be to be taken for this one. The mark of a token needs the key of the home, which the
    /// first host makes, so this is asked for at each look.
    pub(crate) fn wanted(&self) -> WantedHost {
        let mark = |token| holon_daemon::token_mark(self.home(), token).unwrap_or_default();
        let config = EffectiveConfig::of(&self.settings, &self.options, &self.access);
        WantedHost {
            fingerprint: config.fingerprint(),
            config_marks: config.marks(),
            token_mark: self.token.as_ref().map(mark),
        }
    }
}

/// Loads the settings with the address that the options lead to.
pub(crate) fn load(flags: &Flags, options: &HostOptions) -> Result<(Settings, Access), Failure> {
    Ok(settings::load(flags)?.with_access(options)?)
}

/// Returns the flags that the settings are loaded with.
pub(crate) fn flags(home: Option<PathBuf>, options: &HostOptions) -> Flags {
    Flags {
        home,
        agent: None,
        listen: options.listen_flag(),
        model: options.model.clone(),
    }
}

/// Converts the options of the command line, with absolute paths.
fn options(args: HostArgs) -> Result<HostOptions, Failure> {
    let token = match (&args.token, &args.token_file) {
        (None, None) => TokenOption::Generated,
        (None, Some(file)) if file != Path::new(STDIN) => {
            TokenOption::File(path::absolute("--token-file", file)?.into())
        }
        (Some(_), _) | (None, Some(_)) => TokenOption::Given,
    };
    let model = args.model.map(|model| path::model("--model", &model));
    Ok(HostOptions {
        access: args.access.into(),
        host: args.host,
        listen: args.listen,
        port: args.port,
        advertise: args.advertise,
        token,
        model: model.transpose()?,
    })
}

/// Reads the token that a host is started with; `None` if none is named. A token of another kind is refused: with it, a
/// callback or a named token would open the whole host.
fn read_control_token(args: &HostArgs, output: &Output) -> Result<Option<Token>, Failure> {
    let (given, file) = (args.token.as_deref(), args.token_file.as_deref());
    let place = match (given, file) {
        (Some(_), _) | (None, None) => "--token".to_owned(),
        (None, Some(file)) => format!("--token-file {}", file.display()),
    };
    let token = read_token(given, file, MAKE_TOKEN, output)?.map(|token| token.as_control(&place));
    token
        .transpose()
        .map_err(|error| Failure::new(Exit::Failed, "token_unusable", error.to_string()))
}

/// Next step of a host whose token cannot be used: its operator makes a token.
const MAKE_TOKEN: &str = "make one, for example with: (umask 077; openssl rand -hex 32 > FILE)";

/// Reads the token of an operator; `None` if none is named. `next` is the step of who has no usable one: a host gets a new
/// token, a client that of its host.
pub(crate) fn read_token(
    given: Option<&str>,
    file: Option<&Path>,
    next: &str,
    output: &Output,
) -> Result<Option<Token>, Failure> {
    let read = match (given, file) {
        (Some(text), _) => Token::given(text, "--token"),
        (None, Some(file)) if file == Path::new(STDIN) => {
            let text = secret::read_stdin("the token", output)?;
            Token::given(&text, "standard input")
        }
        (None, Some(file)) => Token::load_given(file),
        (None, None) => return Ok(None),
    };
    read.map(Some).map_err(|error| {
        let is_unmade = matches!(
            error,
            TokenError::GivenMissing { .. }
                | TokenError::GivenMalformed { .. }
                | TokenError::Given { .. }
        );
        let failure = Failure::new(Exit::Failed, "token_unusable", error.to_string());
        if is_unmade {
            failure.hint(next)
        } else {
            failure
        }
    })
}

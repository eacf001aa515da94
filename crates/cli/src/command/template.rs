//! `holon template`: lists, shows and checks templates. Needs no host.

use crate::args::TemplateCommand;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::settings;
use holon_daemon::templates::{
    TemplateListing, TemplateOrigin, TemplateView, list_templates, read_template,
};
use std::path::PathBuf;

/// Runs a subcommand on the templates of the user who runs the program.
pub(super) fn run(
    home: Option<PathBuf>,
    command: TemplateCommand,
    output: &Output,
) -> Result<Exit, Failure> {
    let settings = settings::load_home(home)?;
    let read = |template: &str| {
        read_template(&settings, template)
            .map_err(|reason| Failure::new(Exit::Failed, "invalid_template", reason))
    };
    match command {
        TemplateCommand::List => {
            output.answer(&list_templates(&settings), |all| listing(all));
        }
        TemplateCommand::Show { template } => output.answer(&read(&template)?, shown),
        TemplateCommand::Validate { template } => output.answer(&read(&template)?, |found| {
            let skills = found.skills.len();
            format!("{} can be applied; skills: {skills}", found.id)
        }),
    }
    Ok(Exit::Done)
}

fn listing(templates: &[TemplateListing]) -> String {
    let lines = templates.iter().map(|template| {
        let place = place(&template.origin);
        match &template.problem {
            Some(problem) => format!("{}  {place}  CANNOT BE USED: {problem}", template.id),
            None => format!("{}  {place}", template.id),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn place(origin: &TemplateOrigin) -> String {
    match origin {
        TemplateOrigin::Builtin => "built in".to_owned(),
        TemplateOrigin::Directory { path } => path.clone(),
        TemplateOrigin::GitHub(from) => {
            format!("{} {} at {}", from.repository, from.directory, from.commit)
        }
    }
}

fn shown(template: &TemplateView) -> String {
    let skills = template
        .skills
        .iter()
        .map(|skill| format!("skill      {skill}"));
    let head = [
        format!("template   {}", template.id),
        format!("from       {}", place(&template.origin)),
        format!("sha256     {}", template.sha256),
    ];
    let lines: Vec<String> = head.into_iter().chain(skills).collect();
    format!("{}\n\n{}", lines.join("\n"), template.agents_md.trim_end())
}

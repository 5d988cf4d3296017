//! The figures and numbers of the book, measured again and written into its pages.
//!
//! The text between a line `<!-- measured: NAME -->` and the next `<!-- end -->` is written here,
//! and so is every file in `docs/book/figures`. The other words of a page stay; they contain no
//! measured number.

use std::fs;
use std::path::Path;

use results::Load;
use results::environment::Node;

use crate::bench::machine::Machine;
use crate::programs::Build;
use crate::repository;

mod porting;
mod samples;
mod stall;

mod html;
mod page;
mod run;

pub(crate) use html::build as html;
pub(crate) use page::fill;

/// A page of the book and its measurements.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Chapter {
    Loops,
    Samples,
    Porting,
}

/// The results of a chapter: texts and drawings by name.
#[derive(Default)]
struct Measured {
    blocks: Vec<(&'static str, String)>,
    drawings: Vec<(&'static str, String)>,
    /// The loads that were not valid, with the failed gates.
    doubts: Vec<String>,
}

impl Measured {
    /// Returns the name of a load's row, marked if the load is not valid, which is also recorded.
    fn named(&mut self, name: &str, load: &Load) -> String {
        let Some(gates) = run::doubt(load) else { return name.to_owned() };
        self.doubts.push(format!("{name}: {gates}"));
        format!("{name} (*not valid: {gates}*)")
    }
}

impl Chapter {
    pub(crate) const ALL: [Chapter; 3] = [Chapter::Loops, Chapter::Samples, Chapter::Porting];

    /// Returns the page's name without its extension.
    fn name(self) -> &'static str {
        match self {
            Chapter::Loops => "open-and-closed-loops",
            Chapter::Samples => "what-a-percentile-needs",
            Chapter::Porting => "porting-wrk",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Chapter> {
        Chapter::ALL.into_iter().find(|chapter| chapter.name() == name)
    }

    fn measure(self, machine: &Machine) -> Result<Measured, String> {
        match self {
            Chapter::Loops => stall::measure(machine),
            Chapter::Samples => samples::measure(machine),
            Chapter::Porting => porting::measure(machine),
        }
    }
}

/// Measures and writes these chapters. Loads that are not valid are written too, and marked; the
/// task then fails, so that nobody commits them unseen.
pub(crate) fn run(chapters: &[Chapter]) -> bool {
    let written = Machine::prepare(Build::Release).and_then(|machine| {
        let mut doubts = Vec::new();
        for chapter in chapters {
            println!("── {}", chapter.name());
            let measured = chapter.measure(&machine)?;
            write(*chapter, &measured)?;
            doubts.extend(measured.doubts);
        }
        Ok(doubts)
    });
    match written {
        Ok(doubts) => {
            doubts.iter().for_each(|doubt| println!("not valid: {doubt}"));
            doubts.is_empty()
        }
        Err(error) => {
            println!("error: {error}");
            false
        }
    }
}

fn write(chapter: Chapter, measured: &Measured) -> Result<(), String> {
    let folder = repository::root().join("docs/book");
    let figures = folder.join("figures");
    fs::create_dir_all(&figures).map_err(|e| format!("{}: {e}", figures.display()))?;
    for (name, svg) in &measured.drawings {
        save(&figures.join(format!("{name}.svg")), svg)?;
    }
    let path = folder.join(format!("{}.md", chapter.name()));
    let mut text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let made = ("made", made(&Node::read(Path::new("/")), chapter));
    for (name, block) in measured.blocks.iter().chain([&made]) {
        text = page::fill(&text, name, block).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    save(&path, &text)
}

fn save(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("writing {}: {error}", path.display()))
}

/// Returns the command and the kind of machine, but nothing that identifies the machine.
fn made(machine: &Node, chapter: Chapter) -> String {
    let kernel = machine.kernel.as_deref().unwrap_or("unknown");
    let kernel: Vec<&str> = kernel.split(['.', '-']).take(2).collect();
    format!(
        "Numbers and plots were made by `cargo xtask book {}`: {} with {} CPUs ({}), Linux {}; the \
         server on one CPU, the generator on another, everything over loopback.",
        chapter.name(),
        if machine.hypervisor { "a virtual machine" } else { "a machine" },
        machine.cpus,
        machine.cpu_model.as_deref().unwrap_or("of unknown model"),
        kernel.join("."),
    )
}

//! CPU by component over a trial: `cpu.json`, as the runner samples it.
//!
//! The shape is fixed and flat, so its few tokens are read here instead of by a JSON library.

use std::collections::BTreeMap;

#[cfg(test)]
mod tests;

/// CPUs used by each component (1.0 is one CPU) in intervals of equal length.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cpu {
    pub(crate) interval_s: f64,
    pub(crate) components: BTreeMap<String, Vec<f64>>,
}

impl Cpu {
    /// Reads `{"interval_s": 1.0, "components": {"hotel": [0.31, 0.30]}}`; `None` of anything else.
    pub(crate) fn parse(text: &str) -> Option<Cpu> {
        let mut rest = Scanner { rest: text };
        let mut cpu = Cpu { interval_s: 0.0, components: BTreeMap::new() };
        rest.object(|scanner, name| {
            match name.as_str() {
                "interval_s" => cpu.interval_s = scanner.number()?,
                "components" => scanner.object(|scanner, component| {
                    let usage = scanner.numbers()?;
                    cpu.components.insert(component, usage);
                    Some(())
                })?,
                _ => return None,
            }
            Some(())
        })?;
        (0.0 < cpu.interval_s && rest.rest.trim().is_empty()).then_some(cpu)
    }

    /// What `component` used at `t_s` seconds into the measurement.
    pub(crate) fn at(&self, component: &str, t_s: f64) -> Option<f64> {
        let index = (t_s / self.interval_s + 1e-6) as usize;
        self.components.get(component)?.get(index).copied()
    }
}

struct Scanner<'a> {
    rest: &'a str,
}

impl Scanner<'_> {
    fn object(&mut self, mut field: impl FnMut(&mut Self, String) -> Option<()>) -> Option<()> {
        self.token('{')?;
        if self.token('}').is_some() {
            return Some(());
        }
        loop {
            let name = self.string()?;
            self.token(':')?;
            field(self, name)?;
            if self.token(',').is_none() {
                return self.token('}');
            }
        }
    }

    fn numbers(&mut self) -> Option<Vec<f64>> {
        let mut numbers = Vec::new();
        self.token('[')?;
        if self.token(']').is_some() {
            return Some(numbers);
        }
        loop {
            numbers.push(self.number()?);
            if self.token(',').is_none() {
                return self.token(']').map(|()| numbers);
            }
        }
    }

    fn number(&mut self) -> Option<f64> {
        let text = self.rest.trim_start();
        let end = text.find(|c: char| !"+-.eE".contains(c) && !c.is_ascii_digit())?;
        let (number, rest) = text.split_at(end);
        self.rest = rest;
        number.parse().ok().filter(|number: &f64| number.is_finite())
    }

    /// A string whose escapes are the one-letter ones: component names are identifiers.
    fn string(&mut self) -> Option<String> {
        self.token('"')?;
        let mut text = String::new();
        let mut chars = self.rest.char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.rest = &self.rest[at + 1..];
                    return Some(text);
                }
                '\\' => text.push(chars.next().filter(|(_, c)| "\"\\/".contains(*c))?.1),
                _ => text.push(c),
            }
        }
        None
    }

    fn token(&mut self, token: char) -> Option<()> {
        self.rest = self.rest.trim_start().strip_prefix(token)?;
        Some(())
    }
}

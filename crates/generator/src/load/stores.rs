//! A load of YCSB's operations on a key-value store: `--ycsb`, with the URL of a store.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Error, bail, ensure};
use console::output::{self, Exit, Failure};
use load::Driver;
use load::driver::kv::shared;
use load::driver::resp::{self, Login};
use load::measurement::Plan;
use results::secrets::without_plain;
use results::{Secrets, regular};
use wire::kv::Token;
use wire::url::{self, Destination, Scheme, Url};
use ycsb::binding;
use ycsb::kv::{self, Settings};
use ycsb::properties::{self, Place, Properties};
use ycsb::workload::{Part, Workload};

use super::plan::plan;
use super::{Prepared, check_labels};
use crate::options::Load;
use crate::plan::question;
use crate::secret;
use crate::target::{self, Finding, Target};
use crate::tls::Securing;
use crate::ycsb::client::{Streams, of_kv, of_redis, undividable};
use crate::ycsb::token;

#[cfg(test)]
mod tests;

/// The operations, and the store that they are for.
struct Asked {
    workload: Arc<Workload>,
    store: Store,
}

enum Store {
    Redis(Login),
    Kv(Settings, Option<Token>),
}

/// Makes the load of the workload in a file.
pub(super) fn load(arguments: &Load, file: &Path, secrets: &mut Secrets) -> Result<Exit, Failure> {
    check(arguments).map_err(question)?;
    let (target, login) = target(arguments, secrets).map_err(question)?;
    let asked = asked(arguments, file, &target, login).map_err(question)?;
    let targets = vec![target];
    // There is no TLS: its options are refused.
    Securing::of(arguments, &targets).map_err(question)?;
    let plan = plan(arguments, &targets, 1.0)?;
    asked.check_connections(&plan, &targets[0]).map_err(Failure::question)?;
    let labels: Vec<String> = binding::LABELS.iter().map(|name| name.text().to_owned()).collect();
    check_labels(&arguments.slo, &labels).map_err(Failure::question)?;
    if arguments.dry_run {
        return Ok(Exit::Answered);
    }
    let drivers = asked.drivers(arguments, &plan, targets[0].endpoints.len());
    let (events, has_one_path, script_set) = (None, false, None);
    let prepared = Prepared {
        arguments,
        secrets,
        targets,
        plan,
        labels,
        requests_of_an_arrival: 1.0,
        events,
        has_one_path,
        script_set,
    };
    prepared.carry_out(drivers)
}

/// Refuses options that say nothing about a store.
fn check(arguments: &Load) -> anyhow::Result<()> {
    ensure!(
        arguments.urls.len() == 1,
        "--ycsb is for one store: write the servers of a key-value store into one URL, kv://HOST:PORT,HOST:PORT"
    );
    ensure!(
        arguments.connect_to.is_none(),
        "--connect-to is for HTTP; write the place into the URL of the store"
    );
    Ok(())
}

/// Reads the workload, and what the store has to know.
fn asked(arguments: &Load, file: &Path, target: &Target, login: Login) -> anyhow::Result<Asked> {
    let name = regular::shown(file);
    let read = || format!("--ycsb {name}");
    let content = regular::read_input(file, regular::MOST_OF_SHORT).with_context(read)?;
    let table = if target.scheme == Scheme::Kv { kv::PROPERTIES } else { &[] };
    let mut properties = Properties::default();
    properties.read(&name, &content)?;
    for property in &arguments.ycsb_property {
        let place = format!("--ycsb-property {property}");
        let Some((name, value)) = property.split_once('=') else {
            bail!("{place}: it has no value; write --ycsb-property NAME=VALUE");
        };
        ensure!(
            properties::is_known(name, table),
            "--ycsb-property {name}: nothing reads this property{}",
            match name.split('.').next() {
                Some("redis") => "; write the place and the password into the URL",
                Some("kv") => "; write the servers into the URL",
                _ => "; correct its name or remove it",
            }
        );
        properties.set(name, value, Place::Argument(place.into()));
    }
    let part = Part { number: arguments.part.index(), of: arguments.part.of() };
    let lengths = |name: &str| {
        regular::read_text(Path::new(name), regular::MOST_OF_SHORT).map_err(|e| e.to_string())
    };
    let workload = Workload::new(&properties, part, lengths)?;
    let store = match target.scheme {
        Scheme::Kv => {
            let file = kv::token_file(&properties);
            let token = file.map(|file| token::read("kv.tokenfile", Path::new(&file)));
            let token = token.transpose().map_err(Error::msg)?;
            Store::Kv(Settings::of(&properties, &workload, arguments.timeout)?, token)
        }
        _ => Store::Redis(login),
    };
    let mut warnings = properties.warnings(table);
    for (name, option) in OF_THE_LOAD {
        let value = properties.value(ycsb::properties::CORE, name);
        if value.place != Place::Default {
            let place = value.place;
            warnings.push(format!("{place}: the property `{name}` has no effect here; {option}"));
        }
    }
    warnings.iter().for_each(|warning| output::error(&format!("notice: {warning}")));
    Ok(Asked { workload: Arc::new(workload), store })
}

/// The properties that are options of a load, with the remedy.
const OF_THE_LOAD: [(&str, &str); 4] = [
    ("maxexecutiontime", "use --duration"),
    ("measurementtype", "use --json, --hlog or --samples"),
    ("target", "use --rate"),
    ("threadcount", "use --connections and --pipeline"),
];

/// Returns the store with its servers, in their order, and what its connections say first.
fn target(arguments: &Load, secrets: &Secrets) -> anyhow::Result<(Target, Login)> {
    let given = &arguments.urls[0];
    secret::check(given, secrets)?;
    let whole = secrets.reveal_in_url(given);
    let (scheme, places) = whole.split_once("://").unwrap_or_default();
    let is_kv = scheme.eq_ignore_ascii_case(Scheme::Kv.name());
    let urls: Vec<String> = match is_kv {
        true => places.split(',').map(|place| format!("{scheme}://{place}")).collect(),
        false => vec![whole.clone()],
    };
    let urls = urls.iter().map(|url| url::store(url).map_err(Error::msg));
    let urls = urls.collect::<anyhow::Result<Vec<Url>>>()?;
    // As an experiment has it, which knows the addresses of a service and its one URL.
    let list = arguments.address.first().filter(|list| !["all", "first"].contains(&list.as_str()));
    let is_listed = is_kv && list.is_some();
    ensure!(
        !is_listed || urls.len() == 1,
        "--address has the servers, and the URL too; write them once"
    );
    let servers = list.filter(|_| is_kv).map_or(urls.len(), |list| list.split(',').count());
    let mut endpoints = Vec::new();
    for url in &urls {
        let Destination::Host(host, port) = &url.place else {
            bail!("`{}` names a socket; write HOST:PORT", without_plain(given));
        };
        let finding = Finding {
            // A server of the key-value store is one node, however many addresses its name has.
            addresses: if is_kv && !is_listed { &[] } else { &arguments.address },
            connect_to: None,
            sources: &arguments.source,
        };
        let port = port.unwrap_or(url.scheme.port());
        endpoints.extend(target::find(host, port, &finding)?);
    }
    ensure!(
        !is_kv || endpoints.len() == servers,
        "--source has several addresses, and each server of a key-value store gets one; name one"
    );
    if let Some(why) = undividable(&endpoints).filter(|_| is_kv) {
        bail!("the URL {why}");
    }
    let Url { scheme, user_info, place, authority, target: path } =
        urls.into_iter().next().expect("a list has a first item");
    let Destination::Host(host, port) = place else { unreachable!("it was checked") };
    let login = match (is_kv, user_info) {
        (true, None) if path == "/" => Login::default(),
        (true, _) => bail!(
            "`{}` has more than servers; write kv://HOST:PORT,HOST:PORT",
            without_plain(given)
        ),
        (false, user_info) => login(user_info.as_deref(), &path)?,
    };
    let url = without_plain(given);
    let target =
        Target { url, scheme, host, port, authority, path, authorization: None, endpoints };
    Ok((target, login))
}

/// Reads `user:password`, `:password` or nothing, and `/database`.
fn login(user_info: Option<&str>, path: &str) -> anyhow::Result<Login> {
    let unescaped = |text: &str| {
        url::unescaped(text)
            .context("the name or the password of the URL has a wrong `%`; write %25")
    };
    let (user, password) = match user_info {
        None => (None, None),
        Some(info) => {
            let (user, password) = info.split_once(':').context(
                "the URL has a user without a password; write redis://USER:PASSWORD@HOST or \
                 redis://:PASSWORD@HOST",
            )?;
            let user = Some(unescaped(user)?).filter(|user| !user.is_empty());
            (user, Some(unescaped(password)?))
        }
    };
    let database = match path.strip_prefix('/').unwrap_or(path) {
        "" => 0,
        number => number.parse().ok().with_context(|| {
            format!("`/{number}` is not a database; write its number, such as redis://HOST:6379/1")
        })?,
    };
    Ok(Login { user, password, database })
}

impl Asked {
    /// Each pool needs a connection to every server of a key-value store.
    fn check_connections(&self, plan: &Plan, target: &Target) -> Result<(), String> {
        let servers = target.endpoints.len();
        let least = plan.pools.iter().map(|pool| pool.connections).min().unwrap_or_default();
        if matches!(self.store, Store::Redis(_)) || servers <= least {
            return Ok(());
        }
        let needed = servers * plan.pools.len();
        Err(format!(
            "each of {} threads needs a connection to each of {servers} servers\n  \
             use --connections {needed} or more, or fewer --shards",
            plan.pools.len()
        ))
    }

    fn drivers(
        &self,
        arguments: &Load,
        plan: &Plan,
        servers: usize,
    ) -> Vec<Box<dyn Driver + Send>> {
        let streams = Streams::run(&self.workload, plan.seed, plan.pools.len());
        let pipeline = arguments.pipeline as usize;
        match &self.store {
            Store::Redis(login) => {
                let terms = resp::Terms { pipeline, login: login.clone() };
                let terms = vec![terms; plan.pools.len()];
                of_redis(&plan.pools, &streams, &terms).into_iter().map(boxed).collect()
            }
            Store::Kv(form, token) => {
                let (outstanding, users, linger) = (pipeline, None, form.linger);
                let servers = servers as u16;
                let terms = shared::Terms { outstanding, users, linger, servers };
                let terms = vec![terms; plan.pools.len()];
                let token = token.as_ref();
                let drivers = of_kv(&plan.pools, &streams, form.keys, &terms, token);
                drivers.into_iter().map(boxed).collect()
            }
        }
    }
}

fn boxed<D: Driver + Send + 'static>(driver: D) -> Box<dyn Driver + Send> {
    Box::new(driver)
}

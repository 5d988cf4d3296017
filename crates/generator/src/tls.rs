//! The TLS settings of `https` targets. Everything that they need from this machine (files, its
//! store of issuers, its clock) is read here, before the load.

use std::path::Path;

use anyhow::{Context, Error, bail, ensure};
use load::driver::tls::{Identity, Pem, Secured, Terms, Tls, Trust};
use load::measurement::Plan;
use results::regular;

use crate::options;
use crate::target::Target;
use crate::workload::Driver;

/// A pool of connections, secured or plain.
pub(crate) type Pool = Secured<Driver>;

/// The TLS settings that the `https` targets of a load share.
pub(crate) struct Securing {
    tls: Option<Tls>,
    /// The server name to use instead of the URL's host.
    name: Option<String>,
}

impl Securing {
    /// Reads the settings; reads no file unless there is an `https` target.
    pub(super) fn of(arguments: &options::Load, targets: &[Target]) -> anyhow::Result<Securing> {
        let options::Tls { ca, cert, sni, insecure, version, no_resume, .. } = &arguments.tls;
        if !targets.iter().any(Target::is_secured) {
            let given = [
                ("--ca", ca.is_some()),
                ("--cert", cert.is_some()),
                ("--sni", sni.is_some()),
                ("--insecure", *insecure),
                ("--tls", version.is_some()),
                ("--no-resume", *no_resume),
            ];
            if let Some((flag, _)) = given.iter().find(|(_, is_given)| *is_given) {
                bail!("{flag} is for TLS, and no URL begins with https://");
            }
            return Ok(Securing { tls: None, name: None });
        }
        let trust = match ca {
            _ if *insecure => Trust::Anyone,
            Some(path) => Trust::Issuers(read(path, "--ca")?),
            None => Trust::System(system_issuers()),
        };
        let identity = cert.as_ref().map(|path| {
            let certificates = read(path, "--cert")?;
            let key = match &arguments.tls.key {
                Some(path) => read(path, "--key")?,
                None => certificates.clone(),
            };
            Ok::<_, Error>(Identity { certificates, key })
        });
        let terms = Terms {
            trust,
            identity: identity.transpose()?,
            version: version.map(options::TlsVersion::of_load),
            resume: !no_resume,
            now: seconds,
        };
        let tls = Tls::new(&terms).map_err(Error::msg)?;
        Ok(Securing { tls: Some(tls), name: sni.clone() })
    }

    /// Returns the originals' settings: nothing is verified, no session is resumed.
    pub(crate) fn as_originals(targets: &[Target]) -> anyhow::Result<Securing> {
        let (trust, identity, version, resume) = (Trust::Anyone, None, None, false);
        let tls = targets.iter().any(Target::is_secured).then(|| {
            Tls::new(&Terms { trust, identity, version, resume, now: seconds }).map_err(Error::msg)
        });
        Ok(Securing { tls: tls.transpose()?, name: None })
    }

    /// Returns the driver of each pool, secured if its target is.
    pub(crate) fn pools(
        &self,
        drivers: Vec<Driver>,
        plan: &Plan,
        targets: &[Target],
    ) -> anyhow::Result<Vec<Pool>> {
        let of_each = plan.pools_of_each() as usize;
        let pools = drivers.into_iter().enumerate().map(|(pool, driver)| {
            let target = &targets[pool / of_each];
            match self.tls.as_ref().filter(|_| target.is_secured()) {
                None => Ok(Secured::plain(driver)),
                Some(tls) => {
                    let name = self.name.as_deref().unwrap_or(&target.host);
                    let slots = plan.pools[pool].connections;
                    Secured::new(driver, slots, tls, name).map_err(Error::msg)
                }
            }
        });
        pools.collect()
    }
}

fn read(path: &Path, flag: &str) -> anyhow::Result<Pem> {
    let name = format!("{flag} {}", regular::shown(path));
    let text = regular::read_input(path, regular::MOST_OF_SHORT).with_context(|| name.clone())?;
    ensure!(!text.is_empty(), "{name}: the file is empty");
    Ok(Pem { name, text })
}

/// Returns the issuers in the machine's store that can be read. An empty list is refused where it
/// is used.
fn system_issuers() -> Vec<Vec<u8>> {
    let found = rustls_native_certs::load_native_certs().certs;
    found.iter().map(|certificate| certificate.to_vec()).collect()
}

/// Returns the seconds since 1970.
fn seconds() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "certificates expire by the wall clock")]
    let now = std::time::SystemTime::now();
    now.duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

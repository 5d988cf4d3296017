//! The list of an application's services, of which everything else that needs their names is made.

/// A service of an application.
pub trait Service: Copy + Send + Sync + 'static {
    /// The name of the application.
    const APPLICATION: &'static str;

    /// The names of all services of the application, in the order of its list.
    const NAMES: &'static [&'static str];

    /// Returns its place in the list.
    fn place(self) -> usize;
}

/// Makes two enums of an application's list of services: `Service` names them, and `Start` holds
/// the subcommands that start a process of one.
///
/// A line of the list has the help of the subcommand, its name and arguments, and the module of the
/// service. The module's function `run` takes the arguments, and the module's name is the name of
/// the service in metrics.
macro_rules! services {
    (
        $application:literal:
        $($(#[$help:meta])* $name:ident($arguments:ty) in $module:ident,)+
    ) => {
        /// The services of the application.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Service {
            $($name,)+
        }

        impl $crate::kit::services::Service for Service {
            const APPLICATION: &'static str = $application;
            const NAMES: &'static [&'static str] = &[$(stringify!($module)),+];

            fn place(self) -> usize {
                self as usize
            }
        }

        // A doc comment here would replace the help of the application.
        #[derive(clap::Subcommand)]
        pub enum Start {
            $($(#[$help])* $name($arguments),)+
        }

        impl Start {
            /// Runs a process of the service until a signal ends it.
            pub fn run(self) -> anyhow::Result<()> {
                match self {
                    $(Start::$name(arguments) => $module::run(arguments),)+
                }
            }
        }
    };
}

pub(crate) use services;

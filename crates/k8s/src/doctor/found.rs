//! The findings that only a cluster has: answers of its API that are missing.

pub(super) use lab::doctor::found::Found;

use super::Missing;

pub(super) trait OfCluster {
    /// Adds that something could not be read.
    fn unread(&mut self, word: Option<&'static str>, what: &str, missing: &Missing);

    /// Returns what was read; otherwise adds that it could not be.
    fn given<T>(&mut self, what: &str, answer: Result<T, &Missing>) -> Option<T>;

    /// Adds that an answer does not have what Kubernetes documents.
    fn odd(&mut self, word: Option<&'static str>, what: &str, field: &str);

    /// Adds that it is too early to know: none of our pods runs yet.
    fn early(&mut self);
}

impl OfCluster for Found {
    fn unread(&mut self, word: Option<&'static str>, what: &str, missing: &Missing) {
        let (why, remedy) = match missing {
            Missing::Forbidden(right) => (
                format!("may not be read: the account has not the right to {right}"),
                format!("grant it, and test it by `kubectl auth can-i {right}`"),
            ),
            Missing::Absent => (
                "is not in this cluster".to_owned(),
                "look at it on the nodes themselves".to_owned(),
            ),
            Missing::NotRead => ("was not read".to_owned(), "read it by hand".to_owned()),
            Missing::Failed(why) => {
                (format!("could not be read: {why}"), "try it again".to_owned())
            }
        };
        self.unknown(word, format!("{what} {why}"), remedy);
    }

    fn given<T>(&mut self, what: &str, answer: Result<T, &Missing>) -> Option<T> {
        answer.map_err(|missing| self.unread(None, what, missing)).ok()
    }

    fn odd(&mut self, word: Option<&'static str>, what: &str, field: &str) {
        let text = format!("{what} has no {field}");
        self.unknown(word, text, "look at it by `kubectl get --raw` with the path of the source");
    }

    fn early(&mut self) {
        self.untimely("no pod of the experiment runs yet");
    }
}

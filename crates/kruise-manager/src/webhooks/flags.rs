//! Settings of the webhook server. The original reads them from the environment only; ours takes both.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use kruise_api::{env, names};
use kruise_runtime::certs::{Address, Location, Policy};

#[derive(Debug, Args)]
pub struct WebhookFlags {
    /// Port of the webhook server on all addresses; 0 switches it off
    #[arg(long, env = env::WEBHOOK_PORT, default_value_t = 9876)]
    pub webhook_port: u16,

    /// Name or address under which the API server reaches this process; empty for the service
    #[arg(long, env = env::WEBHOOK_HOST, default_value = "")]
    pub webhook_host: String,

    /// Directory of the certificates, where they are kept in files
    #[arg(long, env = env::WEBHOOK_CERT_DIR, default_value = "")]
    pub webhook_cert_dir: String,

    /// fs keeps certificates in the directory, anything else in the secret; empty means fs with a host, else the secret
    #[arg(long, env = env::WEBHOOK_CERT_WRITER, default_value = "")]
    pub webhook_cert_writer: String,

    /// Secret of the certificates, in the manager's namespace
    #[arg(long, env = env::SECRET_NAME, default_value = names::WEBHOOK_CERTS_SECRET)]
    pub webhook_secret_name: String,

    /// Service in front of the webhook server, in the manager's namespace
    #[arg(long, env = env::SERVICE_NAME, default_value = names::WEBHOOK_SERVICE)]
    pub webhook_service_name: String,

    /// How long before its end a certificate is renewed: 90d, 6m or 1y; anything else means 180 days
    #[arg(long, env = env::CERTS_RENEW_BEFORE, default_value = "")]
    pub certs_renew_before: String,

    /// When it is reported that the webhook server is still not ready
    #[arg(long, default_value = "60s", value_parser = crate::go_duration::duration, allow_hyphen_values = true)]
    pub webhook_initialize_timeout: Duration,

    /// Namespace of the manager's own objects
    #[arg(long, env = env::POD_NAMESPACE, default_value = names::NAMESPACE)]
    pub pod_namespace: String,
}

/// Who makes the certificates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    Ours,
    /// Gate EnableExternalCerts.
    External,
}

impl WebhookFlags {
    /// WC-2.
    pub fn location(&self, source: Source) -> Location {
        let (namespace, name) = (self.pod_namespace.clone(), self.webhook_secret_name.clone());
        if source == Source::External {
            return Location::External { namespace, name };
        }
        let is_directory = self.webhook_cert_writer == "fs"
            || (self.webhook_cert_writer.is_empty() && !self.webhook_host.is_empty());
        if !is_directory {
            return Location::Secret { namespace, name };
        }
        if self.webhook_cert_dir.is_empty() {
            return Location::Directory(std::env::temp_dir().join(names::WEBHOOK_CERTS_SECRET));
        }
        Location::Directory(PathBuf::from(&self.webhook_cert_dir))
    }

    /// WC-1.
    pub fn policy(&self) -> Policy {
        let service = format!("{}.{}.svc", self.webhook_service_name, self.pod_namespace);
        let name = if self.webhook_host.is_empty() { &service } else { &self.webhook_host };
        Policy::new(name, &self.certs_renew_before)
    }

    pub fn address(&self) -> Address {
        Address::new(&self.webhook_host, self.webhook_port, &self.webhook_service_name, &self.pod_namespace)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        flags: WebhookFlags,
    }

    fn read(line: &str) -> WebhookFlags {
        Line::try_parse_from(line.split_whitespace()).unwrap().flags
    }

    #[test]
    fn wc_2_where_certificates_are() {
        let secret =
            Location::Secret { namespace: names::NAMESPACE.into(), name: names::WEBHOOK_CERTS_SECRET.into() };
        let dir = Location::Directory("/certs".into());

        assert_eq!(read("manager").location(Source::Ours), secret);
        assert_eq!(read("manager --webhook-host=h --webhook-cert-dir=/certs").location(Source::Ours), dir);
        assert_eq!(
            read("manager --webhook-cert-writer=fs --webhook-cert-dir=/certs").location(Source::Ours),
            dir
        );
        assert_eq!(
            read("manager --webhook-host=h --webhook-cert-writer=secret").location(Source::Ours),
            secret
        );
        assert!(matches!(read("manager").location(Source::External), Location::External { .. }));
    }

    #[test]
    fn wc_1_name_of_the_certificate() {
        assert_eq!(read("manager").policy().name, "kruise-webhook-service.kruise-system.svc");
        assert_eq!(read("manager --webhook-host=10.0.0.1").policy().name, "10.0.0.1");
    }
}

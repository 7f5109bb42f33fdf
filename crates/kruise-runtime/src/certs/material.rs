//! What is stored, read: keys and certificates under the original's names (WC-3, WC-6).

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::sign::CertifiedKey;
use rustls::{RootCertStore, client::WebPkiServerVerifier, client::danger::ServerCertVerifier};

/// Files or keys of the secret by name.
pub type Data = BTreeMap<String, Vec<u8>>;

pub const CA_KEY: &str = "ca-key.pem";
/// The CA that signs, first; behind it the one before, as long as somebody may still use its certificates.
pub const CA_CERT: &str = "ca-cert.pem";
pub const KEY: &str = "key.pem";
pub const CERT: &str = "cert.pem";
pub const TLS_KEY: &str = "tls.key";
pub const TLS_CERT: &str = "tls.crt";
/// External certificates only (WC-6).
pub const EXTERNAL_CA: &str = "ca.crt";

/// What is stored, as far as it can be read.
#[derive(Debug, Clone, Default)]
pub struct Material {
    /// Of `ca-cert.pem`, in order.
    pub authorities: Vec<Certificate>,
    /// Whether the first authority's key is there and of a sort that we can sign with.
    pub can_sign: bool,
    pub serving: Option<Serving>,
}

/// A certificate and its time.
#[derive(Debug, Clone)]
pub struct Certificate {
    pub der: CertificateDer<'static>,
    pub not_before: Timestamp,
    pub not_after: Timestamp,
}

/// The serving certificate with its key; both belong together.
#[derive(Debug, Clone)]
pub struct Serving {
    pub leaf: Certificate,
    pub key: Arc<CertifiedKey>,
}

impl Material {
    /// Reads what this manager or the original stored.
    pub fn read(data: &Data) -> Self {
        let authorities = certificates(data.get(CA_CERT));
        let can_sign = super::issue::signer(data).is_some();
        Self { authorities, can_sign, serving: serving(data.get(CERT), data.get(KEY)) }
    }

    /// Reads what somebody else keeps there (WC-6).
    pub fn read_external(data: &Data) -> Self {
        Self {
            authorities: certificates(data.get(EXTERNAL_CA)),
            can_sign: false,
            serving: serving(data.get(TLS_CERT), data.get(TLS_KEY)),
        }
    }

    /// Whether the API server would accept the serving certificate under this name at that time.
    pub fn is_trusted(&self, name: &str, at: Timestamp) -> bool {
        let (Some(serving), Ok(server)) = (&self.serving, ServerName::try_from(name.to_owned())) else {
            return false;
        };
        let mut roots = RootCertStore::empty();
        for authority in self.authorities.iter().filter(|authority| authority.is_valid(at)) {
            // One that cannot be used as a root is none.
            let _ = roots.add(authority.der.clone());
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let Ok(verifier) = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build()
        else {
            return false;
        };
        let seconds = u64::try_from(at.as_second()).unwrap_or(0);
        let now = UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds));
        verifier.verify_server_cert(&serving.leaf.der, &[], &server, &[], now).is_ok()
    }
}

impl Certificate {
    pub fn is_valid(&self, at: Timestamp) -> bool {
        self.not_before <= at && at < self.not_after
    }

    pub fn read(der: CertificateDer<'static>) -> Option<Self> {
        let (_, parsed) = x509_parser::parse_x509_certificate(&der).ok()?;
        let time = |time: x509_parser::time::ASN1Time| Timestamp::from_second(time.timestamp()).ok();
        let not_before = time(parsed.validity().not_before)?;
        let not_after = time(parsed.validity().not_after)?;
        Some(Self { der, not_before, not_after })
    }
}

fn certificates(pem: Option<&Vec<u8>>) -> Vec<Certificate> {
    let pem = pem.map(Vec::as_slice).unwrap_or_default();
    CertificateDer::pem_slice_iter(pem).filter_map(|der| Certificate::read(der.ok()?)).collect()
}

fn serving(cert: Option<&Vec<u8>>, key: Option<&Vec<u8>>) -> Option<Serving> {
    let chain: Vec<CertificateDer<'static>> =
        CertificateDer::pem_slice_iter(cert?).collect::<Result<_, _>>().ok()?;
    let leaf = Certificate::read(chain.first()?.clone())?;
    let key = PrivateKeyDer::from_pem_slice(key?).ok()?;
    let key = CertifiedKey::from_der(chain, key, &rustls::crypto::ring::default_provider()).ok()?;
    Some(Serving { leaf, key: Arc::new(key) })
}

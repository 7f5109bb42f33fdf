//! Certificates of one cluster: a CA of its own and, for each part, a key pair that says who it is.

use std::fs;
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use time::{Duration, OffsetDateTime};

use crate::TestbedError;

/// Longer than any test cluster lives, and as long as the original's certificates for webhooks.
const VALID_DAYS: i64 = 3650;

/// The certificate authority of a cluster; writes what it issues into one directory.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    dir: PathBuf,
}

/// Who a certificate is for.
#[derive(Debug, Clone, Default)]
pub struct Subject<'a> {
    /// The user name the API server sees.
    pub common_name: &'a str,
    /// The group the API server sees.
    pub organization: Option<&'a str>,
    /// DNS names and addresses it may serve under.
    pub names: Vec<String>,
}

/// Files of one issued certificate.
#[derive(Debug, Clone)]
pub struct Pair {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

impl Authority {
    /// Makes a new CA, and `sa.key` and `sa.pub` for service account tokens.
    pub fn create(dir: &Path) -> Result<Self, TestbedError> {
        fs::create_dir_all(dir).map_err(TestbedError::io(format!("creating {}", dir.display())))?;
        let mut params = valid(Vec::new())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        params.distinguished_name.push(DnType::CommonName, "kruise-testbed");
        let key = KeyPair::generate()?;
        write(&dir.join("ca.crt"), &params.self_signed(&key)?.pem())?;
        write(&dir.join("ca.key"), &key.serialize_pem())?;
        let accounts = KeyPair::generate()?;
        write(&dir.join("sa.key"), &accounts.serialize_pem())?;
        write(&dir.join("sa.pub"), &accounts.public_key_pem())?;
        Ok(Self { issuer: Issuer::new(params, key), dir: dir.to_owned() })
    }

    /// Issues `<file>.crt` and `<file>.key`, good for serving and for being a client.
    pub fn issue(&self, file: &str, subject: &Subject<'_>) -> Result<Pair, TestbedError> {
        let mut params = valid(subject.names.clone())?;
        params.distinguished_name.push(DnType::CommonName, subject.common_name);
        if let Some(organization) = subject.organization {
            params.distinguished_name.push(DnType::OrganizationName, organization);
        }
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate()?;
        let pair = Pair {
            certificate: self.dir.join(format!("{file}.crt")),
            key: self.dir.join(format!("{file}.key")),
        };
        write(&pair.certificate, &params.signed_by(&key, &self.issuer)?.pem())?;
        write(&pair.key, &key.serialize_pem())?;
        Ok(pair)
    }

    pub fn ca(&self) -> PathBuf {
        self.file("ca.crt")
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }
}

fn valid(names: Vec<String>) -> Result<CertificateParams, TestbedError> {
    let mut params = CertificateParams::new(names)?;
    let now = OffsetDateTime::now_utc();
    // An hour back: clocks of containers may lag.
    params.not_before = now - Duration::hours(1);
    params.not_after = now + Duration::days(VALID_DAYS);
    Ok(params)
}

fn write(path: &Path, text: &str) -> Result<(), TestbedError> {
    fs::write(path, text).map_err(TestbedError::io(format!("writing {}", path.display())))
}

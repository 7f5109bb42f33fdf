//! New keys and certificates: ECDSA P-256, the original's names, PEM.

use jiff::Timestamp;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PublicKeyData,
};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use time::OffsetDateTime;

use super::material::{CA_CERT, CA_KEY, CERT, Data, KEY, TLS_CERT, TLS_KEY};

/// As the original: ten years.
const VALID_SECONDS: i64 = 10 * 365 * 24 * 3600;
/// Clocks of API servers may lag behind ours.
pub(super) const BACKDATED_SECONDS: i64 = 3600;
const AUTHORITY: &str = "webhook-cert-ca";

/// Why no certificate could be made.
#[derive(Debug, thiserror::Error)]
pub enum IssueError {
    #[error("making a certificate: {0}")]
    Rcgen(#[from] rcgen::Error),
    #[error("the time {0} cannot be written into a certificate")]
    Time(Timestamp),
    #[error("the stored CA cannot sign")]
    NoSigner,
}

/// The CA that signs, if its key is there and of a sort that we can use.
pub(super) fn signer(data: &Data) -> Option<Issuer<'static, KeyPair>> {
    let text = |name: &str| std::str::from_utf8(data.get(name)?).ok();
    let key = KeyPair::from_pem(text(CA_KEY)?).ok()?;
    let certificate = CertificateDer::pem_slice_iter(data.get(CA_CERT)?).next()?.ok()?;
    let (_, parsed) = x509_parser::parse_x509_certificate(&certificate).ok()?;
    if parsed.public_key().raw != key.subject_public_key_info() {
        return None; // What it signed nobody would trust.
    }
    Issuer::from_ca_cert_der(&certificate, key).ok()
}

/// A new serving certificate of the stored CA, not valid beyond it.
pub(super) fn issue(data: &Data, name: &str, now: Timestamp, end: Timestamp) -> Result<Data, IssueError> {
    let issuer = signer(data).ok_or(IssueError::NoSigner)?;
    let mut result = data.clone();
    leaf(&mut result, &issuer, name, (now, end))?;
    Ok(result)
}

/// A new CA and a serving certificate of it. `before` is the PEM of the CA that the API server trusts until now.
pub(super) fn rotate(before: &str, name: &str, now: Timestamp) -> Result<Data, IssueError> {
    let key = KeyPair::generate()?;
    let mut params = params(Vec::new(), now, end(now))?;
    // A name of its own for each generation: chains are built by it.
    params.distinguished_name.push(DnType::CommonName, AUTHORITY);
    params.distinguished_name.push(DnType::OrganizationalUnitName, now.as_second().to_string());
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    let own = params.self_signed(&key)?.pem();
    let mut data = Data::new();
    data.insert(CA_KEY.to_owned(), key.serialize_pem().into_bytes());
    data.insert(CA_CERT.to_owned(), format!("{own}{before}").into_bytes());
    leaf(&mut data, &Issuer::new(params, key), name, (now, end(now)))?;
    Ok(data)
}

fn leaf(
    data: &mut Data,
    issuer: &Issuer<'_, KeyPair>,
    name: &str,
    (now, until): (Timestamp, Timestamp),
) -> Result<(), IssueError> {
    let key = KeyPair::generate()?;
    let mut names = vec!["localhost".to_owned()];
    if name != "localhost" {
        names.push(name.to_owned());
    }
    let mut params = params(names, now, until.min(end(now)))?;
    params.distinguished_name.push(DnType::CommonName, name);
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    let cert = params.signed_by(&key, issuer)?.pem().into_bytes();
    let key = key.serialize_pem().into_bytes();
    for (field, value) in [(CERT, &cert), (TLS_CERT, &cert), (KEY, &key), (TLS_KEY, &key)] {
        data.insert(field.to_owned(), value.clone());
    }
    Ok(())
}

fn end(now: Timestamp) -> Timestamp {
    Timestamp::from_second(now.as_second().saturating_add(VALID_SECONDS)).unwrap_or(Timestamp::MAX)
}

fn params(names: Vec<String>, now: Timestamp, until: Timestamp) -> Result<CertificateParams, IssueError> {
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.not_before = date(now, BACKDATED_SECONDS)?;
    params.not_after = date(until, 0)?;
    Ok(params)
}

fn date(at: Timestamp, earlier: i64) -> Result<OffsetDateTime, IssueError> {
    OffsetDateTime::from_unix_timestamp(at.as_second().saturating_sub(earlier))
        .map_err(|_| IssueError::Time(at))
}

#[cfg(test)]
mod tests {
    use x509_parser::prelude::GeneralName;

    use super::*;

    /// WC-5, with ECDSA keys instead of RSA: names, purposes and times are the original's.
    #[test]
    fn wc_5_certificates_have_the_names_and_times_of_the_original() {
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let data = rotate("", "10.0.0.1", now).unwrap();
        let der = |name: &str| CertificateDer::from_pem_slice(&data[name]).unwrap();
        let (authority_der, leaf_der) = (der(CA_CERT), der(CERT));
        let (_, authority) = x509_parser::parse_x509_certificate(&authority_der).unwrap();
        let (_, serving) = x509_parser::parse_x509_certificate(&leaf_der).unwrap();

        let common = |of: &x509_parser::certificate::X509Certificate<'_>| {
            of.subject().iter_common_name().next().unwrap().as_str().unwrap().to_owned()
        };
        assert_eq!((common(&authority), common(&serving)), ("webhook-cert-ca".into(), "10.0.0.1".into()));
        assert!(authority.is_ca() && !serving.is_ca());
        let names = &serving.subject_alternative_name().unwrap().unwrap().value.general_names;
        assert_eq!(names[0], GeneralName::DNSName("localhost"));
        assert_eq!(names[1], GeneralName::IPAddress(&[10, 0, 0, 1]), "an address is no DNS name");
        let purposes = serving.extended_key_usage().unwrap().unwrap().value;
        assert!(purposes.server_auth && !purposes.client_auth);
        for one in [&authority, &serving] {
            assert_eq!(
                one.validity().not_after.timestamp(),
                now.as_second() + 315_360_000,
                "ten years of 365 days"
            );
        }
        assert_eq!(authority.validity().not_before, serving.validity().not_before);
    }
}

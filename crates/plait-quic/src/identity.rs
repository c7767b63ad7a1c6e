//! Authentication: the receiver by its certificate's fingerprint, the sender by a shared secret.
//!
//! There are no authorities and no names. The receiver makes its own certificate. The sender
//! accepts only the certificate with the given SHA-256, and presents the secret only to that
//! receiver. Keys are Ed25519.

use crate::error::Error;
use noq_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use noq_proto::{EndpointConfig, RandomConnectionIdGenerator};
use ring::hmac;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, SignatureScheme};
use sha2::{Digest, Sha256};
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

/// Beginning of the secrets in published examples.
const PUBLISHED: &str = "replace-this";

/// Application protocol (ALPN). TLS refuses another program, or another version of the protocol.
const PROTOCOL: &[u8] = b"plait/4";

/// Error text for a certificate with another fingerprint.
pub(crate) const WRONG_CERTIFICATE: &str = "another certificate than that of the fingerprint";

/// Server name in the handshake, which has no meaning.
pub(crate) const NAME: &str = "plait";

/// SHA-256 of a certificate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fingerprint(pub [u8; 32]);

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for Fingerprint {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = || Error::Fingerprint(text.to_owned());
        let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b':').collect();
        let mut bytes = [0; 32];
        if digits.len() != 64 || !digits.iter().all(u8::is_ascii_hexdigit) {
            return Err(wrong());
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| wrong())?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| wrong())?;
        }
        Ok(Self(bytes))
    }
}

/// Shared secret, which a sender needs beside the fingerprint: the SHA-256 of a text that both ends
/// were given.
#[derive(Clone, Copy)]
pub struct Secret(pub [u8; 32]);

impl Secret {
    /// Derives the secret from a text.
    pub fn new(text: &str) -> Self {
        Self(Sha256::digest(text.as_bytes()).into())
    }

    /// True if both secrets are the same. The run time does not depend on where they differ.
    #[must_use]
    pub fn agrees(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
    }
}

/// Never shows the secret.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// Returns random bytes of the operating system.
///
/// # Errors
/// If the system has none.
pub fn random<const N: usize>() -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    let random = rustls::crypto::ring::default_provider().secure_random;
    random.fill(&mut bytes).map_err(|_| Error::Tls("the system gives no random numbers".to_owned()))?;
    Ok(bytes)
}

/// Formats bytes as hexadecimal digits.
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads the text of a file that only its owner may read.
///
/// # Errors
/// [`Error::Setting`] if others may read it, or it cannot be read.
pub fn read_private(file: &Path) -> Result<String, Error> {
    let refused = |reason: String| Error::Setting(format!("{}: {reason}", file.display()));
    let mut open = File::open(file).map_err(|error| refused(error.to_string()))?;
    let mode = open.metadata().map_err(|error| refused(error.to_string()))?.permissions().mode() & 0o777;
    if mode & 0o077 != 0 && !is_credential(file) {
        return Err(refused(format!("others may read it (mode {mode:04o}): chmod 600 {}", file.display())));
    }
    let mut text = String::new();
    open.read_to_string(&mut text).map_err(|error| refused(error.to_string()))?;
    Ok(text)
}

/// Reads the secret in a file: its first line.
///
/// # Errors
/// Those of [`read_private`], and [`Error::Setting`] if the line is empty.
pub fn secret_in(file: &Path) -> Result<String, Error> {
    let text = read_private(file)?;
    let line = text.lines().next().map(str::trim).filter(|line| !line.is_empty());
    line.map(str::to_owned)
        .ok_or_else(|| Error::Setting(format!("{}: its first line is empty", file.display())))
}

/// Refuses the secrets of the option files in `packaging/systemd`, which everybody can read.
///
/// # Errors
/// [`Error::Setting`]. `whose` names the secret.
pub fn refuse_published(secret: &str, whose: &str) -> Result<(), Error> {
    if secret.starts_with(PUBLISHED) {
        let text = format!("{whose} is that of a published example: make another one (openssl rand -hex 16)");
        return Err(Error::Setting(text));
    }
    Ok(())
}

/// True if the secret is so short that it can be guessed. A guess costs only a handshake.
pub fn is_weak(secret: &str) -> bool {
    secret.chars().count() < 12
}

/// True if systemd guards the file as a credential of this service (`LoadCredential=`). The
/// service's user reads it by an access control list, which appears as a permission of the group.
fn is_credential(file: &Path) -> bool {
    std::env::var_os("CREDENTIALS_DIRECTORY")
        .is_some_and(|folder| !folder.is_empty() && file.starts_with(folder))
}

/// A receiver's self-made certificate, and its key.
#[derive(Debug)]
pub struct Identity {
    certificate: CertificateDer<'static>,
    key: PrivatePkcs8KeyDer<'static>,
}

impl Identity {
    /// Generates an identity.
    ///
    /// # Errors
    /// If no key can be generated.
    pub fn generate() -> Result<Self, Error> {
        let failed = |error: rcgen::Error| Error::Tls(error.to_string());
        let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519).map_err(failed)?;
        let parameters = rcgen::CertificateParams::new(vec![NAME.to_owned()]).map_err(failed)?;
        let certificate = parameters.self_signed(&key).map_err(failed)?;
        Ok(Self {
            certificate: certificate.der().clone(),
            key: PrivatePkcs8KeyDer::from(key.serialize_der()),
        })
    }

    /// Reads the identity in a file: certificate and private key as PEM. Creates the file if it
    /// does not exist. Only the owner may read it.
    ///
    /// # Errors
    /// [`Error::Setting`] if others may read it, or it contains no certificate and key.
    pub fn load_or_generate(file: &Path) -> Result<Self, Error> {
        let refused = |reason: String| Error::Setting(format!("{}: {reason}", file.display()));
        if !file.exists() {
            let made = Self::generate()?;
            let block = |tag: &str, bytes: &[u8]| pem::encode(&pem::Pem::new(tag, bytes));
            let certificate = block("CERTIFICATE", &made.certificate);
            let key = block("PRIVATE KEY", made.key.secret_pkcs8_der());
            let mut out = OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(file)
                .map_err(|error| Error::of_file(&file.display().to_string(), &error))?;
            out.write_all((certificate + &key).as_bytes())?;
            return Ok(made);
        }
        let text = read_private(file)?;
        let wrong =
            |error: rustls::pki_types::pem::Error| refused(format!("no certificate and key: {error}"));
        Ok(Self {
            certificate: CertificateDer::from_pem_slice(text.as_bytes()).map_err(wrong)?,
            key: PrivatePkcs8KeyDer::from_pem_slice(text.as_bytes()).map_err(wrong)?,
        })
    }

    /// Derives the reset tokens of an endpoint's connection IDs from the key. So an end that was
    /// restarted with the same key tells its peers at once that their connections are gone (RFC
    /// 9000 §10.3).
    ///
    /// Connection IDs have 8 random bytes. noq's default has 3 and a checksum, and does not compare
    /// the ID of a Retry with those in use. At 2^-24 for each ID in use, a client got an ID of
    /// another connection, which received all packets of the client's handshake.
    pub(crate) fn mark(&self, config: &mut EndpointConfig) {
        let key = Sha256::new()
            .chain_update(b"plait reset tokens")
            .chain_update(self.key.secret_pkcs8_der())
            .finalize();
        config.reset_key(Arc::new(hmac::Key::new(hmac::HMAC_SHA256, &key)));
        config.cid_generator(Arc::new(|| Box::new(RandomConnectionIdGenerator::default())));
    }

    /// Returns the fingerprint that a sender needs.
    pub fn fingerprint(&self) -> Fingerprint {
        fingerprint(&self.certificate)
    }

    /// Returns the receiver's TLS configuration.
    ///
    /// # Errors
    /// [`Error::Tls`].
    pub fn server(&self) -> Result<QuicServerConfig, Error> {
        self.server_of(PROTOCOL)
    }

    /// Returns the receiver's TLS configuration for another application protocol (ALPN).
    ///
    /// # Errors
    /// [`Error::Tls`].
    pub fn server_of(&self, protocol: &[u8]) -> Result<QuicServerConfig, Error> {
        let mut config = rustls::ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(|error| tls(&error))?
            .with_no_client_auth()
            .with_single_cert(vec![self.certificate.clone()], self.key.clone_key().into())
            .map_err(|error| tls(&error))?;
        config.alpn_protocols = vec![protocol.to_vec()];
        // No session is resumed: every path proves the certificate.
        config.send_tls13_tickets = 0;
        QuicServerConfig::try_from(config).map_err(|error| Error::Tls(error.to_string()))
    }
}

/// Returns the sender's TLS configuration, which accepts one certificate.
///
/// # Errors
/// [`Error::Tls`].
pub fn client(pinned: Fingerprint) -> Result<QuicClientConfig, Error> {
    client_of(pinned, PROTOCOL)
}

/// Returns the sender's TLS configuration for another application protocol (ALPN).
///
/// # Errors
/// [`Error::Tls`].
pub fn client_of(pinned: Fingerprint, protocol: &[u8]) -> Result<QuicClientConfig, Error> {
    let provider = provider();
    let algorithms = provider.signature_verification_algorithms;
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(|error| tls(&error))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Pinned { pinned, algorithms }))
        .with_no_client_auth();
    config.alpn_protocols = vec![protocol.to_vec()];
    config.resumption = rustls::client::Resumption::disabled();
    QuicClientConfig::try_from(config).map_err(|error| Error::Tls(error.to_string()))
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn tls(error: &rustls::Error) -> Error {
    Error::Tls(error.to_string())
}

fn fingerprint(certificate: &CertificateDer<'_>) -> Fingerprint {
    Fingerprint(Sha256::digest(certificate).into())
}

/// Accepts one certificate, with any content, if its key signs the handshake.
#[derive(Debug)]
struct Pinned {
    pinned: Fingerprint,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if fingerprint(end_entity) == self.pinned {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(rustls::Error::General(WRONG_CERTIFICATE.to_owned()))
        }
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(rustls::Error::General("QUIC has no TLS 1.2".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_are_read_as_they_are_written() {
        let fingerprint = Identity::generate().expect("a key").fingerprint();
        assert_eq!(fingerprint.to_string().parse::<Fingerprint>().expect("it is one"), fingerprint);
        let colons = fingerprint.0.map(|byte| format!("{byte:02X}")).join(":");
        assert_eq!(colons.parse::<Fingerprint>().expect("it is one"), fingerprint);
        for wrong in ["", "12", "zz", &"0".repeat(63), &"0".repeat(65), &"é".repeat(32)] {
            assert!(wrong.parse::<Fingerprint>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn secrets_agree_if_their_texts_do() {
        assert!(Secret::new("a").agrees(&Secret::new("a")));
        assert!(!Secret::new("a").agrees(&Secret::new("b")));
        assert!(!Secret::new("").agrees(&Secret([0; 32])));
    }
}

//! `bulk quinn|noq recv BYTES` and `bulk quinn|noq send BYTES ADDRESS MTU`: one QUIC stream of zeros over loopback, as the bulk benches of these
//! libraries send it. One thread each; TLS 1.3 by rustls and ring; datagrams of the same size as those they are held against.
//! The receiver's certificate is new each time, and nobody checks it.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn server_tls() -> Result<rustls::ServerConfig, Failure> {
    let made = rcgen::generate_simple_self_signed(["bulk".to_owned()])?;
    let key = rustls::pki_types::PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider).with_protocol_versions(&[&rustls::version::TLS13])?;
    Ok(config.with_no_client_auth().with_single_cert(vec![made.cert.der().clone()], key.into())?)
}

fn client_tls() -> Result<rustls::ClientConfig, Failure> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider).with_protocol_versions(&[&rustls::version::TLS13])?;
    Ok(config.dangerous().with_custom_certificate_verifier(Arc::new(Anybody)).with_no_client_auth())
}

/// Believes everybody: both ends are of this program.
#[derive(Debug)]
struct Anybody;

impl rustls::client::danger::ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &rustls::pki_types::CertificateDer<'_>,
        _: &[rustls::pki_types::CertificateDer<'_>],
        _: &rustls::pki_types::ServerName<'_>,
        _: &[u8],
        _: rustls::pki_types::UnixTime,
    ) -> Result<rustls::client::danger::ServerCertVerified, rustls::Error> {
        Ok(rustls::client::danger::ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &rustls::pki_types::CertificateDer<'_>,
        _: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        Ok(rustls::client::danger::HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &rustls::pki_types::CertificateDer<'_>,
        _: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        Ok(rustls::client::danger::HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        rustls::crypto::ring::default_provider().signature_verification_algorithms.supported_schemes()
    }
}

/// Both libraries have the same calls, and no common trait.
macro_rules! ends {
    ($name:ident, $library:ident) => {
        mod $name {
            use super::*;

            fn transport(mtu: u16) -> Arc<$library::TransportConfig> {
                let mut config = $library::TransportConfig::default();
                config.initial_mtu(mtu).min_mtu(mtu).mtu_discovery_config(None);
                Arc::new(config)
            }

            fn wide(socket: SocketAddr, server: Option<$library::ServerConfig>) -> Result<$library::Endpoint, Failure> {
                let mut config = $library::EndpointConfig::default();
                config.max_udp_payload_size(16_000)?;
                let socket = std::net::UdpSocket::bind(socket)?;
                // What plait-quic asks for, too; the system may give less.
                let _ = socket2::SockRef::from(&socket).set_recv_buffer_size(4 << 20);
                let _ = socket2::SockRef::from(&socket).set_send_buffer_size(4 << 20);
                Ok($library::Endpoint::new(config, server, socket, Arc::new($library::TokioRuntime))?)
            }

            pub(super) async fn recv(bytes: u64, mtu: u16) -> Result<(), Failure> {
                let crypto = $library::crypto::rustls::QuicServerConfig::try_from(server_tls()?)?;
                let mut server = $library::ServerConfig::with_crypto(Arc::new(crypto));
                server.transport_config(transport(mtu));
                let endpoint = wide((Ipv4Addr::LOCALHOST, 0).into(), Some(server))?;
                println!("{}", endpoint.local_addr()?);
                let connection = endpoint.accept().await.ok_or("closed")?.await?;
                let mut stream = connection.accept_uni().await?;
                let mut got = 0;
                while let Some(chunk) = read!($library, stream) {
                    got += size!($library, chunk);
                }
                assert_eq!(got, bytes);
                connection.close(0_u32.into(), b"done");
                endpoint.wait_idle().await;
                Ok(())
            }

            pub(super) async fn send(bytes: u64, to: SocketAddr, mtu: u16) -> Result<(), Failure> {
                let crypto = $library::crypto::rustls::QuicClientConfig::try_from(client_tls()?)?;
                let mut client = $library::ClientConfig::new(Arc::new(crypto));
                client.transport_config(transport(mtu));
                let endpoint = wide((Ipv4Addr::LOCALHOST, 0).into(), None)?;
                let begun = Instant::now();
                let connection = endpoint.connect_with(client, to, "bulk")?.await?;
                let mut stream = connection.open_uni().await?;
                let (piece, mut left) = (vec![0; 1 << 20], bytes);
                while left > 0 {
                    let most = piece.len().min(left as usize);
                    stream.write_all(&piece[..most]).await?;
                    left -= most as u64;
                }
                stream.finish()?;
                connection.closed().await;
                println!("{}", begun.elapsed().as_secs_f64());
                Ok(())
            }
        }
    };
}

macro_rules! read {
    (quinn, $stream:ident) => {
        $stream.read_chunk(1 << 20, true).await?
    };
    (noq, $stream:ident) => {
        $stream.read_chunk(1 << 20).await?
    };
}

macro_rules! size {
    (quinn, $chunk:ident) => {
        $chunk.bytes.len() as u64
    };
    (noq, $chunk:ident) => {
        $chunk.len() as u64
    };
}

ends!(over_quinn, quinn);
ends!(over_noq, noq);

fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match words[..] {
        ["quinn", "recv", bytes, mtu] => runtime.block_on(over_quinn::recv(bytes.parse()?, mtu.parse()?)),
        ["noq", "recv", bytes, mtu] => runtime.block_on(over_noq::recv(bytes.parse()?, mtu.parse()?)),
        ["quinn", "send", bytes, mtu, to] => runtime.block_on(over_quinn::send(bytes.parse()?, to.parse()?, mtu.parse()?)),
        ["noq", "send", bytes, mtu, to] => runtime.block_on(over_noq::send(bytes.parse()?, to.parse()?, mtu.parse()?)),
        _ => Err("bulk quinn|noq recv BYTES MTU, or bulk quinn|noq send BYTES MTU ADDRESS".into()),
    }
}

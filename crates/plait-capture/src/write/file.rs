//! A pcapng file that appears under its name only when it is complete.

use super::{Role, WriteError};
use crate::ip;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::pcapng::{Block, PcapNgWriter};
use pcap_file::{DataLink, Endianness, PcapError};
use std::borrow::Cow;
use std::fmt;
use std::io::BufWriter;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::NamedTempFile;

/// `if_tsresol`: nanoseconds.
const NANOSECONDS: u8 = 9;
/// `epb_flags`: the direction.
const INBOUND: u32 = 1;
const OUTBOUND: u32 = 2;

/// Interface that captures the packets of one end of a path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interface<'a> {
    pub(super) path: &'a str,
    pub(super) role: Role,
    pub(super) address: Ipv4Addr,
}

/// A file under a temporary name that is being written.
pub(super) struct CaptureFile {
    name: PathBuf,
    writer: PcapNgWriter<BufWriter<NamedTempFile>>,
}

impl fmt::Debug for CaptureFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CaptureFile").field(&self.name).finish()
    }
}

/// A complete file that does not have its final name yet.
#[derive(Debug)]
pub(super) struct Complete {
    name: PathBuf,
    file: NamedTempFile,
}

impl CaptureFile {
    /// Begins the file `name` with `comment` in its header.
    pub(super) fn create(name: PathBuf, comment: &str) -> Result<Self, WriteError> {
        let folder = name.parent().unwrap_or(Path::new("."));
        let file = builder().tempfile_in(folder).map_err(|error| failed(&name, &error))?;
        let section = SectionHeaderBlock {
            endianness: Endianness::Little,
            options: vec![
                SectionHeaderOption::Comment(Cow::Owned(comment.to_owned())),
                SectionHeaderOption::UserApplication(Cow::Borrowed("plait")),
            ],
            ..SectionHeaderBlock::default()
        };
        let writer = PcapNgWriter::with_section_header(BufWriter::new(file), section);
        let writer = writer.map_err(|error| broken(&name, error))?;
        Ok(Self { name, writer })
    }

    pub(super) fn name(&self) -> &Path {
        &self.name
    }

    /// Adds an interface. Returns its number.
    pub(super) fn add_interface(&mut self, interface: &Interface<'_>) -> Result<u32, WriteError> {
        let Interface { path, role, address } = *interface;
        let number = self.writer.interfaces().len() as u32;
        let description = format!("the {}'s end of path {path} (simulated)", role.name());
        let options = vec![
            InterfaceDescriptionOption::IfName(Cow::Owned(path.to_owned())),
            InterfaceDescriptionOption::IfDescription(Cow::Owned(description)),
            InterfaceDescriptionOption::IfIpv4Addr(Cow::Owned(
                [address.octets(), [255, 255, 255, 0]].concat(),
            )),
            InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
        ];
        let block = InterfaceDescriptionBlock { linktype: DataLink::RAW, snaplen: 0, options };
        self.put(&Block::InterfaceDescription(block))?;
        Ok(number)
    }

    /// Adds a packet of which at least the headers are stored.
    pub(super) fn write(
        &mut self,
        interface: u32,
        time: i64,
        packet: &[u8],
        inbound: bool,
        comment: Option<&'static str>,
    ) -> Result<(), WriteError> {
        let mut options = vec![EnhancedPacketOption::Flags(if inbound { INBOUND } else { OUTBOUND })];
        options.extend(comment.map(|text| EnhancedPacketOption::Comment(Cow::Borrowed(text))));
        let block = Block::EnhancedPacket(EnhancedPacketBlock {
            interface_id: interface,
            timestamp: Duration::from_nanos(time.unsigned_abs()),
            original_len: ip::total(packet),
            data: Cow::Borrowed(packet),
            options,
        });
        self.put(&block)
    }

    fn put(&mut self, block: &Block<'_>) -> Result<(), WriteError> {
        self.writer.write_block(block).map(|_| ()).map_err(|error| broken(&self.name, error))
    }

    /// Completes the file after the last packet.
    pub(super) fn complete(self) -> Result<Complete, WriteError> {
        let Self { name, writer } = self;
        match writer.into_inner().into_inner() {
            Ok(file) => Ok(Complete { name, file }),
            Err(error) => Err(failed(&name, error.error())),
        }
    }
}

impl Complete {
    /// Gives the file its name.
    pub(super) fn keep(self) -> Result<PathBuf, WriteError> {
        let Self { name, file } = self;
        file.persist(&name).map_err(|error| failed(&name, &error.error))?;
        Ok(name)
    }
}

/// Temporary files are private to their owner; captures are as readable as other files.
fn builder<'a, 'b>() -> tempfile::Builder<'a, 'b> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".capture-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder
}

fn broken(name: &Path, error: PcapError) -> WriteError {
    match error {
        PcapError::IoError(error) => failed(name, &error),
        other => WriteError { file: name.to_owned(), reason: other.to_string().to_lowercase() },
    }
}

/// Keeps the message of the operating system, without the error number.
fn failed(name: &Path, error: &std::io::Error) -> WriteError {
    let text = error.to_string();
    let reason = text.split(" (os error").next().unwrap_or(&text);
    // The library adds the temporary name, which is of no use to the user.
    let reason = reason.split(" at path").next().unwrap_or(reason);
    WriteError { file: name.to_owned(), reason: reason.to_owned() }
}

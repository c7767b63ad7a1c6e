//! Linux system calls that the standard library lacks, each as a safe function.
#![allow(unsafe_code, reason = "calls of the C library; each says why it is right")]

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use plait_sched::Duration;

fn checked(answer: libc::c_int) -> io::Result<libc::c_int> {
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}

/// Returns the effective user and group of this process.
pub(crate) fn user() -> (u32, u32) {
    // SAFETY: these calls cannot fail and take no arguments.
    unsafe { (libc::geteuid(), libc::getegid()) }
}

/// Moves this thread into new namespaces. A user namespace requires a process with a single thread.
pub(crate) fn unshare(flags: libc::c_int) -> io::Result<()> {
    // SAFETY: takes no memory.
    checked(unsafe { libc::unshare(flags) }).map(drop)
}

/// Moves this thread into a network namespace.
fn set_namespace(namespace: RawFd) -> io::Result<()> {
    // SAFETY: takes no memory.
    checked(unsafe { libc::setns(namespace, libc::CLONE_NEWNET) }).map(drop)
}

/// Returns an interface's index in this thread's network namespace.
pub(crate) fn interface_index(name: &str) -> io::Result<u32> {
    let name = CString::new(name)?;
    // SAFETY: the string ends with 0 and lives through the call.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        index => Ok(index),
    }
}

/// Turns an opened `/dev/net/tun` into the TUN interface `name`.
pub(crate) fn make_tunnel(device: BorrowedFd<'_>, name: &str) -> io::Result<()> {
    // SAFETY: all zeros is a valid ifreq.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if name.len() >= request.ifr_name.len() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (target, byte) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *target = byte as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: TUNSETIFF reads and writes one ifreq.
    checked(unsafe { libc::ioctl(device.as_raw_fd(), libc::TUNSETIFF as _, &raw mut request) }).map(drop)
}

/// Waits until one of `descriptors` is readable, or `patience` is over. Sets `revents` of the
/// readable ones.
pub(crate) fn wait(descriptors: &mut [libc::pollfd], patience: Option<Duration>) -> io::Result<()> {
    let patience = patience.map(|patience| libc::timespec {
        tv_sec: (patience.as_nanos() / 1_000_000_000) as libc::time_t,
        tv_nsec: (patience.as_nanos() % 1_000_000_000) as _,
    });
    let pointer = patience.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the slice and the time live through the call.
    let answer = unsafe {
        libc::ppoll(descriptors.as_mut_ptr(), descriptors.len() as libc::nfds_t, pointer, std::ptr::null())
    };
    match checked(answer) {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => {
            descriptors.iter_mut().for_each(|one| one.revents = 0);
            Ok(())
        }
        other => other.map(drop),
    }
}

/// Describes waiting until `descriptor` is readable.
pub(crate) const fn readable(descriptor: RawFd) -> libc::pollfd {
    libc::pollfd { fd: descriptor, events: libc::POLLIN, revents: 0 }
}

/// Makes this thread's timers precise: the kernel does not delay them to combine them with others.
pub(crate) fn set_timer_slack() {
    // SAFETY: takes no memory. If the call fails, timers keep their usual delay of 50 microseconds.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) };
}

/// A raw socket of netlink's routing family.
pub(crate) fn netlink() -> io::Result<OwnedFd> {
    // SAFETY: takes no memory; the descriptor is new and ours.
    unsafe {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        checked(libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_ROUTE))
            .map(|one| OwnedFd::from_raw_fd(one))
    }
}

/// Opens a socket that becomes readable when an interface of this thread's network namespace has
/// changed.
pub(crate) fn link_notices() -> io::Result<OwnedFd> {
    let socket = netlink()?;
    // SAFETY: all zeros is a valid address, which lives through the call.
    unsafe {
        let mut address: libc::sockaddr_nl = std::mem::zeroed();
        address.nl_family = libc::AF_NETLINK as libc::sa_family_t;
        address.nl_groups = libc::RTMGRP_LINK as u32;
        let length = size_of::<libc::sockaddr_nl>() as libc::socklen_t;
        checked(libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length))?;
        checked(libc::fcntl(socket.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK))?;
    }
    Ok(socket)
}

/// A signal that this process received.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Signal {
    pub(crate) number: i32,
    /// True if a process sent the signal to this process alone; the terminal signals the whole
    /// foreground group.
    pub(crate) personal: bool,
}

/// Interrupts, termination requests and ends of children, as a descriptor to wait for. Dropping it
/// restores the previous signal mask.
pub(crate) struct Signals {
    descriptor: OwnedFd,
    before: libc::sigset_t,
}

impl Signals {
    pub(crate) fn new() -> io::Result<Self> {
        // SAFETY: a zeroed set is memory for sigemptyset to fill; all pointers live through the
        // calls; the descriptor is new.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            let mut before: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            for number in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGCHLD] {
                libc::sigaddset(&raw mut set, number);
            }
            match libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, &raw mut before) {
                0 => {}
                number => return Err(io::Error::from_raw_os_error(number)),
            }
            let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
            let descriptor = checked(libc::signalfd(-1, &raw const set, flags))?;
            Ok(Self { descriptor: OwnedFd::from_raw_fd(descriptor), before })
        }
    }

    pub(crate) fn descriptor(&self) -> RawFd {
        self.descriptor.as_raw_fd()
    }

    /// Returns the next pending signal.
    pub(crate) fn next(&self) -> Option<Signal> {
        // SAFETY: signalfd writes whole records of this size, for which any bytes are valid.
        let information = unsafe {
            let mut information: libc::signalfd_siginfo = std::mem::zeroed();
            let size = size_of::<libc::signalfd_siginfo>();
            let read = libc::read(self.descriptor(), (&raw mut information).cast(), size);
            (read == size as isize).then_some(information)
        }?;
        Some(Signal { number: information.ssi_signo as i32, personal: information.ssi_code == libc::SI_USER })
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        // SAFETY: the set is the one that pthread_sigmask gave.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, std::ptr::null_mut()) };
    }
}

/// Sends a signal to a process, or to a process group if the number is negative. Ignores processes
/// that are gone.
pub(crate) fn send_signal(process: i32, number: i32) {
    // SAFETY: takes no memory.
    unsafe { libc::kill(process, number) };
}

/// Prepares a command to run in `namespace`, or in this thread's. The command starts with no signal
/// blocked, and ends when this process ends.
pub(crate) fn prepare(command: &mut Command, namespace: Option<RawFd>) {
    let prepare = move || {
        if let Some(namespace) = namespace {
            set_namespace(namespace)?;
        }
        // SAFETY: a zeroed set is filled before it is used; no memory is allocated after the fork.
        unsafe {
            let mut none: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut none);
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
            // Python ignores this signal, and child programs inherit that.
            libc::signal(libc::SIGPIPE, libc::SIG_DFL);
            checked(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong)).map(drop)
        }
    };
    // SAFETY: between fork and exec, only permitted calls are made.
    unsafe { command.pre_exec(prepare) };
}

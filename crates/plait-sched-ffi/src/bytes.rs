//! The structs of the interface as bytes, for an engine in another process: each begins with its
//! size. Their order of bytes is the machine's.

use crate::connection::CConnection;
use crate::decision::{CDecision, CEvent};
use crate::error::Error;
use crate::path::CPath;
use crate::sized::{self, Sized32};
use plait_sched::view::MAX_PATHS;
use plait_sched::{Connection, Decision, Event, Path, PathId};

/// Reads a struct and removes its bytes.
fn take<T: Sized32>(bytes: &mut &[u8]) -> Result<T, Error> {
    let size = bytes.first_chunk().map_or(0, |&size| u32::from_ne_bytes(size));
    let size = sized::check::<T>(size)?;
    let (part, rest) = bytes.split_at_checked(size).ok_or(Error::size(T::WRONG))?;
    *bytes = rest;
    Ok(sized::from_bytes(part))
}

/// Reads a `plait_connection` and the `plait_path` array after it.
///
/// # Errors
/// If the bytes are not those of such structs; a line says why.
pub fn facts(mut bytes: &[u8]) -> Result<(Connection, Vec<Path>), String> {
    let mut read = || {
        let connection = take::<CConnection>(&mut bytes)?.connection()?;
        let mut paths = Vec::new();
        while !bytes.is_empty() {
            if paths.len() == MAX_PATHS {
                return Err(Error::argument("there are more than PLAIT_MAX_PATHS paths"));
            }
            paths.push(take::<CPath>(&mut bytes)?.path(PathId(paths.len() as u8))?);
        }
        Ok((connection, paths))
    };
    read().map_err(Error::text)
}

/// Reads a `plait_event`. Returns the bytes after it, too.
///
/// # Errors
/// If the bytes are not those of such a struct; a line says why.
pub fn event(mut bytes: &[u8]) -> Result<(Event, &[u8]), String> {
    let event = take::<CEvent>(&mut bytes).and_then(|event| event.event()).map_err(Error::text)?;
    Ok((event, bytes))
}

/// Returns the bytes of a `plait_decision`.
pub fn decision(decision: &Decision) -> Vec<u8> {
    sized::to_bytes(&CDecision::of(decision))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plait_sched::{Duration, Time};

    #[test]
    fn facts_and_events_are_read_as_they_were_written() {
        let connection = Connection { unassigned: 7, window_left: 3, ..Connection::default() };
        let paths = [0, 1].map(|id| Path { cwnd: 10 + u32::from(id), ..Path::new(PathId(id), 1452) });
        let mut bytes = sized::to_bytes(&CConnection::of(&connection));
        bytes.extend(paths.iter().flat_map(|path| sized::to_bytes(&CPath::of(path))));
        assert_eq!(facts(&bytes), Ok((connection, paths.to_vec())));
        let acked = Event::Acked { path: PathId(1), segments: 2, rtt: Some(Duration::from_millis(20)) };
        let mut with_facts = sized::to_bytes(&CEvent::of(&acked).unwrap());
        with_facts.extend(&bytes);
        assert_eq!(event(&with_facts), Ok((acked, &bytes[..])));
    }

    #[test]
    fn a_struct_that_is_cut_off_is_refused() {
        let bytes = sized::to_bytes(&CConnection::of(&Connection::default()));
        assert!(facts(&bytes[..bytes.len() - 8]).is_err());
        assert!(facts(&bytes[..2]).is_err());
        assert!(event(&[]).is_err());
    }

    #[test]
    fn a_decision_has_its_fields_in_the_order_of_the_header() {
        let bytes = decision(&Decision::Wait { until: Some(Time::from_nanos(9)) });
        assert_eq!(bytes.len(), 32);
        assert_eq!(bytes[..4], 32_u32.to_ne_bytes());
        assert_eq!(bytes[24..], 9_u64.to_ne_bytes());
    }
}

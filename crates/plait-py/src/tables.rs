//! Recorded tables as Arrow, exported through the Arrow C stream interface without copying.

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchIterator, StringArray,
    UInt8Array, UInt32Array, UInt64Array,
};
use plait_quic::recording::result::{Recorded, Transmission};
use plait_sim::recorder::frames::{
    ConnectionSeries, DECISION_NAMES, DecisionFrame, DecisionPaths, NEVER, PacketFrame, PathSeries,
    RequestFrame, limited, nanos,
};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::sync::Arc;

/// Adds this file's class.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<ArrowTable>()
}

/// A table that any Arrow library reads.
#[pyclass(frozen, module = "plait._core")]
#[derive(Clone)]
pub(crate) struct ArrowTable {
    batch: RecordBatch,
}

#[pymethods]
impl ArrowTable {
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The consumer may ask for another schema; a producer may answer with its own.
        let _ = requested_schema;
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

fn table(columns: Vec<(&str, ArrayRef)>) -> PyResult<ArrowTable> {
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, column)| (name, column.clone(), column.null_count() > 0)),
    );
    batch.map(|batch| ArrowTable { batch }).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// A column of times, with nulls for events that did not happen.
fn moments(values: Vec<i64>) -> ArrayRef {
    if values.contains(&NEVER) {
        Arc::new(values.into_iter().map(|at| (at != NEVER).then_some(at)).collect::<Int64Array>())
    } else {
        Arc::new(Int64Array::from(values))
    }
}

/// One row per transmission.
pub(crate) fn packets(frame: PacketFrame) -> PyResult<ArrowTable> {
    let rows = frame.len() as u64;
    let blocked = frame.arrived.iter().zip(&frame.delivered).map(|(&arrived, &delivered)| {
        if arrived == NEVER || delivered == NEVER { NEVER } else { delivered - arrived }
    });
    let blocked = blocked.collect();
    table(vec![
        ("transmission", Arc::new(UInt64Array::from_iter_values(0..rows))),
        ("sequence", Arc::new(UInt64Array::from(frame.sequence))),
        ("path", Arc::new(UInt8Array::from(frame.path))),
        ("bytes", Arc::new(UInt32Array::from(frame.bytes))),
        ("sent_ns", Arc::new(Int64Array::from(frame.sent))),
        ("arrived_ns", moments(frame.arrived)),
        ("duplicate_ns", moments(frame.duplicate)),
        ("delivered_ns", moments(frame.delivered)),
        ("blocked_ns", moments(blocked)),
        ("retransmission", Arc::new(BooleanArray::from(frame.retransmission))),
        ("reinjection", Arc::new(BooleanArray::from(frame.reinjection))),
    ])
}

/// One row per transmission of a recording, with the facts that the sender knows.
pub(crate) fn transmissions(recorded: &Recorded) -> PyResult<ArrowTable> {
    let sent = &recorded.transmissions;
    let acknowledged = |one: &Transmission| one.acknowledged.map_or(NEVER, |(at, _)| nanos(at));
    let waited = |one: &Transmission| one.acknowledged.map_or(0, |(_, waited)| waited.as_nanos());
    table(vec![
        ("path", Arc::new(UInt8Array::from_iter_values(sent.iter().map(|one| one.path.0)))),
        ("segment", Arc::new(UInt64Array::from_iter_values(sent.iter().map(|one| one.segment)))),
        ("bytes", Arc::new(UInt32Array::from_iter_values(sent.iter().map(|one| one.bytes)))),
        ("sent_ns", Arc::new(Int64Array::from_iter_values(sent.iter().map(|one| nanos(one.sent))))),
        ("acknowledged_ns", moments(sent.iter().map(acknowledged).collect())),
        ("waited_ns", Arc::new(UInt64Array::from_iter_values(sent.iter().map(waited)))),
        ("lost", Arc::new(sent.iter().map(|one| Some(one.lost)).collect::<BooleanArray>())),
    ])
}

/// One row per request.
pub(crate) fn requests(frame: RequestFrame) -> PyResult<ArrowTable> {
    table(vec![
        ("written_ns", moments(frame.written)),
        ("answered_ns", moments(frame.answered)),
        ("delivered_ns", moments(frame.delivered)),
        ("request_bytes", Arc::new(UInt64Array::from(frame.request_bytes))),
        ("response_bytes", Arc::new(UInt64Array::from(frame.response_bytes))),
    ])
}

/// One row per path and sampling time.
pub(crate) fn path_series(series: PathSeries) -> PyResult<ArrowTable> {
    let threshold = series.ssthresh.into_iter().map(|packets| packets.is_finite().then_some(packets));
    table(vec![
        ("time_ns", Arc::new(Int64Array::from(series.time))),
        ("path", Arc::new(UInt8Array::from(series.path))),
        ("cwnd_packets", Arc::new(Float64Array::from(series.cwnd))),
        ("ssthresh_packets", Arc::new(threshold.collect::<Float64Array>())),
        ("srtt_ns", moments(series.srtt)),
        ("in_flight_packets", Arc::new(UInt32Array::from(series.in_flight))),
        ("queued_packets", Arc::new(UInt32Array::from(series.queued))),
        ("link_queue_packets", unless_unset(series.link_queue)),
        ("arrived_bytes", Arc::new(UInt64Array::from(series.arrived_bytes))),
    ])
}

/// One row per sampling time.
pub(crate) fn connection_series(series: ConnectionSeries) -> PyResult<ArrowTable> {
    table(vec![
        ("time_ns", Arc::new(Int64Array::from(series.time))),
        ("buffer_packets", Arc::new(UInt32Array::from(series.buffer_packets))),
        ("buffer_bytes", Arc::new(UInt64Array::from(series.buffer_bytes))),
        ("delivered_bytes", Arc::new(UInt64Array::from(series.delivered_bytes))),
        ("window_left_packets", Arc::new(UInt64Array::from(series.window_left))),
    ])
}

/// A column of amounts, with nulls for unset values.
fn unless_unset(values: Vec<u32>) -> ArrayRef {
    Arc::new(values.into_iter().map(|amount| (amount != u32::MAX).then_some(amount)).collect::<UInt32Array>())
}

/// A column of amounts of segments, with nulls for amounts without a limit.
fn unless_endless(values: Vec<u64>) -> ArrayRef {
    Arc::new(values.into_iter().map(limited).collect::<UInt64Array>())
}

/// One row per decision.
pub(crate) fn decisions(frame: DecisionFrame) -> PyResult<ArrowTable> {
    let names = frame.decision.iter().map(|&kind| DECISION_NAMES[usize::from(kind)]);
    let reasons = frame.reason.iter().map(|reason| (!reason.is_empty()).then_some(reason));
    let segments = frame.segments.into_iter().map(|segments| segments.filter(|&limit| limit != u32::MAX));
    table(vec![
        ("time_ns", Arc::new(Int64Array::from(frame.time))),
        ("decision", Arc::new(StringArray::from_iter_values(names))),
        ("path", Arc::new(UInt8Array::from(frame.path))),
        ("segments", Arc::new(segments.collect::<UInt32Array>())),
        ("segment", Arc::new(UInt64Array::from(frame.segment))),
        ("wait_until_ns", Arc::new(Int64Array::from(frame.wait_until))),
        ("unassigned", unless_endless(frame.unassigned)),
        ("window_left", Arc::new(UInt64Array::from(frame.window_left))),
        ("window", Arc::new(UInt64Array::from(frame.window))),
        ("send_buffer_left", unless_endless(frame.send_buffer_left)),
        ("oldest_unacked", Arc::new(UInt64Array::from(frame.oldest_unacked))),
        ("oldest_unacked_path", Arc::new(UInt8Array::from(frame.oldest_unacked_path))),
        ("reason", Arc::new(reasons.collect::<StringArray>())),
    ])
}

/// One row per decision and path.
pub(crate) fn decision_paths(frame: DecisionPaths) -> PyResult<ArrowTable> {
    let verdicts = frame.verdict.iter().map(|verdict| verdict.name());
    let states = frame.state.iter().map(|&state| state.name());
    table(vec![
        ("decision", Arc::new(UInt64Array::from(frame.decision))),
        ("path", Arc::new(UInt8Array::from(frame.path))),
        ("verdict", Arc::new(StringArray::from_iter_values(verdicts))),
        ("state", Arc::new(StringArray::from_iter_values(states))),
        ("srtt_ns", moments(frame.srtt)),
        ("rttvar_ns", moments(frame.rttvar)),
        ("own_rtt_ns", moments(frame.own_rtt)),
        ("min_rtt_ns", moments(frame.min_rtt)),
        ("latest_rtt_ns", moments(frame.latest_rtt)),
        ("forward_delay_ns", Arc::new(Int64Array::from(frame.forward_delay))),
        ("rto_ns", Arc::new(Int64Array::from(frame.rto))),
        ("cwnd", Arc::new(UInt32Array::from(frame.cwnd))),
        ("ssthresh", unless_unset(frame.ssthresh)),
        ("in_flight", Arc::new(UInt32Array::from(frame.in_flight))),
        ("queued", Arc::new(UInt32Array::from(frame.queued))),
        ("limit", unless_unset(frame.limit)),
        ("cwnd_left", Arc::new(UInt32Array::from(frame.cwnd_left))),
        ("loss_ppm", Arc::new(UInt32Array::from(frame.loss_ppm))),
        ("delivery_rate_bps", Arc::new(UInt64Array::from(frame.delivery_rate))),
    ])
}

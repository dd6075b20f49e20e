import BrokerHTTP
import NativeSSO
import PostgresClient
import Registry
import StrictCoding

/// The audit events of one request, in words.
struct RequestReport: ObjectResult {
    let requestID: UniqueID
    let records: [AuditRecord]

    var lines: [String] {
        records.flatMap { record in
            let explanation = AuditExplanation(record)
            let trace = record.trace.map { "  Trace \($0.description.filter { $0 != "-" })" }
            return ["\(Cell.instant(record.time).shown)  \(record.kind)\(trace ?? "")", "  \(explanation.sentence)"]
                + (explanation.remedy.map { ["  \($0)"] } ?? [])
        }
    }

    func members(to json: inout JSONWriter) {
        json.member("request_id", requestID.description)
        json.array("events", of: records) { record, json in
            let explanation = AuditExplanation(record)
            record.shown.members(to: &json)
            json.member("sentence", explanation.sentence)
            Cell(explanation.remedy).write(as: "remedy", to: &json)
        }
    }
}

extension AuditRecord {
    var time: UnixTime { UnixTime(seconds: occurredAt.flooredSeconds) }

    /// The fields that every listing shows.
    var shown: Record {
        [
            "occurred_at": .instant(time), "kind": .text(kind), "reason": Cell(reason),
            "client_id": Cell(client?.string), "source_client": Cell(sourceClient?.string),
            "session_id": Cell(session?.description), "issuer": Cell(issuer?.string), "sid_sha256": Cell(sidDigest),
            "group_id": Cell(group?.string), "grant_id": Cell(grant?.description), "actor": Cell(actor),
            // As in traceparent and in the log.
            "trace_id": Cell(trace?.description.filter { $0 != "-" }),
        ]
    }
}

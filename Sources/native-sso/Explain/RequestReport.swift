import NativeSSO
import PostgresClient
import Registry
import StrictCoding

/// What was recorded under one request id, in words.
struct RequestReport: CommandResult {
    let requestID: UniqueID
    let records: [AuditRecord]

    var lines: [String] {
        records.flatMap { record in
            let explanation = AuditExplanation(record)
            return ["\(record.time.rfc3339)  \(record.kind)", "  \(explanation.sentence)"]
                + (explanation.remedy.map { ["  \($0)"] } ?? [])
        }
    }

    func write(to json: inout JSONWriter) {
        json.object { json in
            json.member("request_id", requestID.description)
            json.array("events", of: records) { record, json in
                let explanation = AuditExplanation(record)
                record.shown.members(to: &json)
                json.member("sentence", explanation.sentence)
                Cell(explanation.remedy).write(as: "remedy", to: &json)
            }
        }
    }
}

extension AuditRecord {
    var time: UnixTime { UnixTime(seconds: occurredAt.flooredSeconds) }

    /// What is shown of an event, wherever one is.
    var shown: Record {
        [
            "occurred_at": .instant(time), "kind": .text(kind), "reason": Cell(reason),
            "client_id": Cell(client?.string), "source_client": Cell(sourceClient?.string),
            "session_id": Cell(session?.description), "issuer": Cell(issuer?.string), "sid": Cell(sessionID?.string),
            "group_id": Cell(group?.string), "grant_id": Cell(grant?.description), "actor": Cell(actor),
        ]
    }
}

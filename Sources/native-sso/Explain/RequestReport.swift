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
            json.member(
                "events",
                array: { json in
                    for record in records {
                        let explanation = AuditExplanation(record)
                        json.object { json in
                            record.write(to: &json)
                            json.member("sentence", explanation.sentence)
                            Cell(explanation.remedy).write(as: "remedy", to: &json)
                        }
                    }
                })
        }
    }
}

extension AuditRecord {
    var time: UnixTime { UnixTime(seconds: occurredAt.flooredSeconds) }

    /// The members of an event; the same wherever one is shown.
    func write(to json: inout JSONWriter) {
        Cell.instant(time).write(as: "occurred_at", to: &json)
        json.member("kind", kind)
        Cell(reason).write(as: "reason", to: &json)
        Cell(client?.string).write(as: "client_id", to: &json)
        Cell(sourceClient?.string).write(as: "source_client", to: &json)
        Cell(session?.description).write(as: "session_id", to: &json)
        Cell(issuer?.string).write(as: "issuer", to: &json)
        Cell(sessionID?.string).write(as: "sid", to: &json)
        Cell(group?.string).write(as: "group_id", to: &json)
        Cell(grant?.description).write(as: "grant_id", to: &json)
        Cell(actor).write(as: "actor", to: &json)
    }
}

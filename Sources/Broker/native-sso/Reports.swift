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

/// Whether one app may use the logins of another, at each identity provider.
struct SharingReport: ObjectResult {
    struct Answer: Sendable {
        let issuer: Issuer
        let profile: Profile
        /// `nil`: it may.
        let refusal: RefusalRow?
        /// The scope that an exchange would grant.
        let scope: Scope
    }

    let source: ClientID
    let target: ClientID
    let answers: [Answer]

    /// At one identity provider, under one profile.
    var isYes: Bool { answers.contains { $0.refusal == nil } }

    var lines: [String] {
        answers.flatMap { answer in
            let beginning = "\(answer.issuer), \(answer.profile.rawValue): "
            guard let refusal = answer.refusal else {
                return ["\(beginning)yes, \(target) may use logins of \(source); it gets: \(answer.scope)"]
            }
            return ["\(beginning)no, because \(refusal.cause) (\(refusal.reason))", "  \(refusal.remedy)"]
        }
    }

    func members(to json: inout JSONWriter) {
        json.member("from", source.string)
        json.member("to", target.string)
        json.member("may_share", isYes)
        json.array("answers", of: answers) { answer, json in
            json.member("issuer", answer.issuer.string)
            json.member("profile", answer.profile.rawValue)
            json.member("may_share", answer.refusal == nil)
            Cell(answer.refusal?.reason).write(as: "reason", to: &json)
            Cell(answer.refusal?.cause).write(as: "cause", to: &json)
            Cell(answer.refusal?.remedy).write(as: "remedy", to: &json)
            json.member("scope", answer.scope.tokens)
        }
    }
}

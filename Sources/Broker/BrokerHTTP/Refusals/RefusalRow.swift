import HTTPServer
import JOSE
package import NativeSSO
import OAuthWire

/// One row of the table of refusals. Its texts are fixed and hold nothing of any request.
///
/// - The reason is the refusal's name in log, audit and metrics.
/// - The answer is all that the client learns. Refusals that depend on state share one answer:
///   ``RefusalAnswer/invalidGrant``.
/// - Cause and remedy are for the app's developer and the operator. They look up a request id with `native-sso
///   explain`, or read `deploy/guide/troubleshoot.md`. A cause completes "refused because …"; a remedy consists of
///   sentences.
///
/// The rows stand in `…Rows.swift`. No switch there has a `default`: a new case does not compile until it has its row.
package struct RefusalRow: Sendable {
    private let reasonText: StaticString
    private let causeText: StaticString
    private let remedyText: StaticString

    /// All that the caller learns.
    let answer: RefusalAnswer
    /// Draft 07's answer, which sends the user to the browser. Native SSO §4.4.
    let inDraft07: RefusalAnswer?

    init(
        _ reason: StaticString, _ answer: RefusalAnswer, inDraft07: RefusalAnswer? = nil, _ cause: StaticString,
        _ remedy: StaticString
    ) {
        reasonText = reason
        self.answer = answer
        self.inDraft07 = inDraft07
        causeText = cause
        remedyText = remedy
    }

    /// Reason, cause and remedy of refusals that share one answer.
    typealias Words = (reason: StaticString, cause: StaticString, remedy: StaticString)

    init(_ words: Words, _ answer: RefusalAnswer) { self.init(words.reason, answer, words.cause, words.remedy) }

    /// For the refusals that depend on state, binding or relationship.
    init(_ reason: StaticString, inDraft07: RefusalAnswer? = nil, _ cause: StaticString, _ remedy: StaticString) {
        self.init(reason, .invalidGrant, inDraft07: inDraft07, cause, remedy)
    }

    /// The name in log, audit and metrics.
    package var reason: String { reasonText.description }
    /// The rule that refused it, as a clause: "the device value is not the one …".
    package var cause: String { causeText.description }
    /// What the app's developer or the operator can do: sentences.
    package var remedy: String { remedyText.description }
}

/// A kind of refusal whose cases each have a row.
package protocol RefusalCase: CaseIterable, Sendable {
    var row: RefusalRow { get }
}

extension RefusalRow {
    /// Every row.
    /// - Returns: Each row with the audit event that carries its reason; `nil`: only the log has it.
    package static let all: [(kind: AuditEvent.Kind?, row: RefusalRow)] =
        rows(of: HTTPFault.self, nil) + rows(of: RequestRefusal.self, .requestRefused)
        + rows(of: FormError.self, .requestRefused) + rows(of: ParameterDefect.self, .requestRefused)
        + rows(of: ClientRefusal.self, .requestRefused) + rows(of: DPoPDefect.self, .requestRefused)
        + rows(of: NonceDefect.self, .requestRefused) + rows(of: RateLimited.Limit.self, .requestRefused)
        + rows(of: SubjectTokenDefect.self, .exchangeRefused) + rows(of: ExchangeRefusal.self, .exchangeRefused)
        + rows(of: EnrolmentRefusal.self, .enrolmentRefused)
        + rows(of: HandoffRefusal.self, .handoffRefused) + rows(of: RelayRefusal.self, .enrolmentRefused)
        + rows(of: ProviderError.self, .enrolmentRefused) + rows(of: ProviderFault.self, .enrolmentRefused)
        + row(answerUnusable, .enrolmentRefused)
        + rows(of: RefreshRefusal.self, .refreshRefused) + rows(of: LogoutRefusal.self, .logoutRefused)
        + rows(of: RevocationRefusal.self, .requestRefused) + rows(of: EventRefusal.self, .requestRefused)

    /// What can be wrong with an identity provider's answer to a code, besides a defect of its id_token.
    package static let answerFaults = AnswerFault.allCases.map(\.row)

    /// The row of a reason in log, audit or metrics, or of a fault in the log; `nil` if this version does not know it.
    /// - Parameter kind: Of the audit event. Some reasons belong to several grants, each with its own form of the rule.
    package static func of(_ reason: String, in kind: AuditEvent.Kind?) -> RefusalRow? {
        let found = all.filter { $0.row.reason == reason }
        return (found.first { $0.kind == kind } ?? found.first)?.row ?? answerFaults.first { $0.reason == reason }
    }

    private static func rows<Refusal: RefusalCase>(
        of refusal: Refusal.Type, _ kind: AuditEvent.Kind?
    ) -> [(kind: AuditEvent.Kind?, row: RefusalRow)] {
        refusal.allCases.map { (kind, $0.row) }
    }

    private static func row(
        _ row: RefusalRow, _ kind: AuditEvent.Kind?
    ) -> [(kind: AuditEvent.Kind?, row: RefusalRow)] { [(kind, row)] }
}

/// Writes refusals to the audit, as far as ``AuditLimit`` admits them. The metrics count the others.
struct RefusalAudit: Sendable {
    let audit: any AuditTrail
    let metrics: BrokerMetrics
    let clock: any WallClock
    private let limit = AuditLimit()

    func note(_ refusal: Refusal, as kind: AuditEvent.Kind, of record: RequestRecord, client: ClientID?) {
        if limit.admits(refusal, of: record.presented, at: record.start) {
            audit.record(
                AuditEvent(
                    kind: kind, requestID: record.requestID, occurredAtMilliseconds: clock.milliseconds,
                    client: client, reason: refusal.reason, subject: record.subject, trace: record.trace?.id))
        } else {
            metrics.sampledOut.add()
        }
    }
}

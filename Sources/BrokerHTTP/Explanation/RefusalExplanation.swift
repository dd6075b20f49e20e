import JOSE
public import NativeSSO
import OAuthWire

/// What the developer of an app, or the operator of the broker, is told of a refusal when they ask by its request id. The app
/// itself is told less: see ``Refusal/answer``. Fixed texts, which hold nothing of any request.
public struct RefusalExplanation: Sendable, Hashable {
    /// The rule that refused it, as a clause: "the device value is not the one …".
    public let cause: String
    /// What can be done about it: sentences.
    public let remedy: String

    init(_ cause: StaticString, _ remedy: StaticString) {
        self.cause = cause.description
        self.remedy = remedy.description
    }
}

extension RefusalExplanation {
    /// What log, audit and metrics call `reason`; `nil` where this version knows no such reason.
    /// - Parameter kind: Of the audit event. A few reasons mean the same rule of several grants, in other words.
    public init?(reason: String, of kind: AuditEvent.Kind?) {
        let found = Self.all.filter { $0.reason == reason }
        guard let match = found.first(where: { $0.kind == kind }) ?? found.first else { return nil }
        self = match.explanation
    }

    private struct Entry: Sendable {
        /// `nil`: it is in the log only.
        let kind: AuditEvent.Kind?
        let reason: String
        let explanation: RefusalExplanation
    }

    private static let all: [Entry] = {
        var all = HTTPFault.allCases.map { Entry(kind: nil, reason: $0.rawValue, explanation: $0.explanation) }
        func add(_ kind: AuditEvent.Kind, _ reason: String, _ explanation: RefusalExplanation) {
            all.append(Entry(kind: kind, reason: reason, explanation: explanation))
        }
        for refusal in RequestRefusal.allCases { add(.requestRefused, refusal.rawValue, refusal.explanation) }
        for error in FormError.allCases { add(.requestRefused, error.rawValue, error.explanation) }
        for defect in ParameterDefect.allCases { add(.requestRefused, defect.rawValue, defect.explanation) }
        for refusal in ClientRefusal.allCases { add(.requestRefused, refusal.rawValue, refusal.explanation) }
        for defect in DPoPDefect.allCases { add(.requestRefused, defect.rawValue, defect.explanation) }
        for defect in NonceDefect.allCases { add(.requestRefused, defect.rawValue, defect.explanation) }
        for limit in RateLimited.Limit.allCases { add(.requestRefused, limit.rawValue, limit.explanation) }
        for refusal in ExchangeRefusal.allCases { add(.exchangeRefused, refusal.reason, refusal.explanation) }
        for refusal in EnrolmentRefusal.allCases { add(.enrolmentRefused, refusal.reason, refusal.explanation) }
        for refusal in CodeRefusal.allCases { add(.enrolmentRefused, refusal.reason, refusal.explanation) }
        for outcome in RevocationOutcome.allCases { add(.codeOrphaned, outcome.rawValue, outcome.explanation) }
        for refusal in RefreshRefusal.allCases { add(.refreshRefused, refusal.rawValue, refusal.explanation) }
        for refusal in LogoutRefusal.allCases { add(.logoutRefused, refusal.rawValue, refusal.explanation) }
        return all
    }()
}

extension Refusal {
    /// No `default`, here and below: a new refusal does not compile until someone has found the words for it.
    var explanation: RefusalExplanation {
        switch self {
        case .wire(let fault): fault.explanation
        case .request(let refusal): refusal.explanation
        case .form(let error): error.explanation
        case .parameter(let defect): defect.explanation
        case .client(let failure): failure.reason.explanation
        case .proof(let defect): defect.explanation
        case .nonce(let defect, fresh: _): defect.explanation
        case .exchange(let refusal, profile: _, client: _): refusal.explanation
        case .enrolment(let refusal): refusal.explanation
        case .code(let refusal): refusal.explanation
        case .refresh(let refusal): refusal.explanation
        case .logout(let refusal): refusal.explanation
        case .rate(let limited): limited.limit.explanation
        }
    }
}

import HTTPServer
import Logging
import NIOHTTP1
import NativeSSO
import OAuthWire

/// How a request fails: a refusal, an outage or a defect.
typealias TokenError = GrantError<Refusal>

extension GrantError where Refusal == BrokerHTTP.Refusal {
    static func refusing<Value>(_ body: () throws(BrokerHTTP.Refusal) -> Value) throws(TokenError) -> Value {
        do throws(BrokerHTTP.Refusal) {
            return try body()
        } catch {
            throw .refused(error)
        }
    }

    var refusal: BrokerHTTP.Refusal? {
        switch self {
        case .invalidIDToken(let defect): .subjectToken(defect)
        case .refused(let refusal): refusal
        case .limited(let limited): .rate(limited)
        case .outage, .broken: nil
        }
    }

    /// Whether the client's assertion was used before: a failure of the client, whichever grant's statement detects it.
    var isOfUsedAssertion: Bool {
        switch self {
        case .refused(.exchange(.assertionReplayed, profile: _, client: _)), .refused(.enrolment(.assertionReplayed)),
            .refused(.refresh(.assertionReplayed)):
            true
        default: false
        }
    }

    /// Whether the refusal rests on what was written for it, and confirmed: a revoked grant, or the end of a relayed code.
    var hasWritten: Bool {
        switch self {
        case .refused(.refresh(let reason)): reason.revokesGrant
        case .refused(.code(.provider)), .refused(.code(.unusable)), .refused(.code(.idToken)): true
        default: false
        }
    }

    /// Whether the answer is one of those that many reasons share, most of which depend on state.
    var hasSharedAnswer: Bool {
        switch refusal?.answer.body.error {
        case .invalidGrant, .interactionRequired: true
        default: false
        }
    }

    /// The texts of outages and defects are the broker's own and hold nothing that a caller sent.
    var reason: String {
        switch self {
        case .invalidIDToken, .refused, .limited: refusal?.reason ?? ""
        case .outage(let outage): outage.description
        case .broken(let what): what
        }
    }

    var level: Logger.Level {
        switch self {
        // The database has lost acknowledged writes: the operator on call must see it.
        case .refused(.refresh(.stateRegressed)): .error
        case .refused(.code(let refusal)) where refusal.isProviderFault: .warning
        case .invalidIDToken, .refused, .limited: .notice
        case .outage(let outage): outage.isUndecided ? .notice : .warning
        case .broken: .error
        }
    }

    var label: OutcomeLabel {
        switch self {
        case .invalidIDToken, .refused, .limited: .refused
        case .outage(let outage): outage.isUndecided ? .undecided : .unavailable
        case .broken: .failed
        }
    }
}

extension HTTPAnswer {
    init(_ error: TokenError) {
        if let refusal = error.refusal {
            self.init(refusal.answer)
        } else if case .outage(let outage) = error {
            self.init(outage.isUndecided ? .undecided(outage.retryAfter) : RefusalAnswer.unavailable)
        } else {
            self.init(
                status: .internalServerError,
                body: OAuthErrorResponse(.serverError, "The request could not be processed.").json)
        }
    }

    init(_ refusal: RefusalAnswer) {
        self.init(status: refusal.status, headers: refusal.headers, body: refusal.body.json)
    }
}

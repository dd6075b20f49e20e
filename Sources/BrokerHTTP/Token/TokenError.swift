import NativeSSO

/// How a token request fails: refused, or not for the caller's fault.
typealias TokenError = GrantError<Refusal>

extension GrantError where Refusal == BrokerHTTP.Refusal {
    static func refusing<Value>(_ body: () throws(BrokerHTTP.Refusal) -> Value) throws(TokenError) -> Value {
        do throws(BrokerHTTP.Refusal) {
            return try body()
        } catch {
            throw .refused(error)
        }
    }

    /// Whether the client's assertion was used before: a failure of the client, whichever grant's statement has found it out.
    var isOfUsedAssertion: Bool {
        switch self {
        case .refused(.exchange(.assertionReplayed, profile: _, client: _)), .refused(.enrolment(.assertionReplayed)),
            .refused(.refresh(.assertionReplayed)):
            true
        default: false
        }
    }

    /// A grant's own failure, its refusal put among all refusals.
    init<Other>(_ error: GrantError<Other>, refusal: (Other) -> BrokerHTTP.Refusal) {
        switch error {
        case .invalidIDToken(let defect): self = .invalidIDToken(defect)
        case .refused(let other): self = .refused(refusal(other))
        case .limited(let limited): self = .limited(limited)
        case .outage(let outage): self = .outage(outage)
        case .broken(let what): self = .broken(what)
        }
    }
}

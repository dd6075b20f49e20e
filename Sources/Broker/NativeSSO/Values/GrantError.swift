/// Why a grant fails. Each kind gets another answer.
package indirect enum GrantError<Refusal: Error>: Error, Sendable {
    /// The id_token is not genuine, or not of the right form. RFC 8693 §2.2.2.
    case invalidIDToken(SubjectTokenDefect)
    /// The caller caused the failure. Becomes an OAuth error.
    case refused(Refusal)
    /// Becomes a 429 with `Retry-After`.
    case limited(RateLimited)
    /// Becomes a 503 with `Retry-After`.
    case outage(Outage)
    /// A defect of the broker: `server_error`. The text goes to the log only.
    case broken(String)
}

package typealias ExchangeError = GrantError<ExchangeRefusal>
package typealias RefreshError = GrantError<RefreshRefusal>

extension GrantError {
    /// Charges a rate limit. If it is exhausted, the app is told to come later.
    package static func counting(_ charge: () throws(RateLimited) -> Void) throws(GrantError) {
        do throws(RateLimited) {
            try charge()
        } catch {
            throw .limited(error)
        }
    }

    /// Calls a port and maps its failure to a failure of the grant.
    package static func port<Value>(_ call: () throws(PortError) -> Value) throws(GrantError) -> Value {
        do throws(PortError) {
            return try call()
        } catch {
            throw GrantError(error)
        }
    }

    package static func port<Value: Sendable>(
        _ call: () async throws(PortError) -> Value
    ) async throws(GrantError) -> Value {
        do throws(PortError) {
            return try await call()
        } catch {
            throw GrantError(error)
        }
    }

    /// Converts the failure of one grant into that of another.
    package init<Other>(_ error: GrantError<Other>, refusal: (Other) -> Refusal) {
        switch error {
        case .invalidIDToken(let defect): self = .invalidIDToken(defect)
        case .refused(let other): self = .refused(refusal(other))
        case .limited(let limited): self = .limited(limited)
        case .outage(let outage): self = .outage(outage)
        case .broken(let what): self = .broken(what)
        }
    }

    init(_ error: IDTokenVerificationError) {
        switch error {
        case .refused(let defect): self = .invalidIDToken(defect)
        case .outage(let outage): self = .outage(outage)
        }
    }

    init(_ error: PortError) {
        switch error {
        case .outage(let outage): self = .outage(outage)
        case .broken(let what): self = .broken(what)
        }
    }
}

/// A dependency of the broker failed. Becomes a 503 with `Retry-After`, never a refusal, because apps delete their
/// login on `invalid_grant`.
package struct Outage: Error, Sendable, CustomStringConvertible {
    package enum Component: String, Sendable, CaseIterable {
        case database, keyModule = "key_module", identityProvider = "identity_provider"
    }

    package let component: Component
    /// For the log. Contains no secret and nothing from the request.
    package let detail: String
    /// Whether only this request cannot be decided yet, because it shows something newer than this broker knows, or something
    /// invented. A caller can choose this outage, so it counts apart from the others.
    package let isUndecided: Bool
    /// When the same request may be decided.
    package let retryAfter: Seconds

    package init(_ component: Component, _ detail: String, isUndecided: Bool = false, retryAfter: Seconds = 1) {
        self.component = component
        self.detail = detail
        self.isUndecided = isUndecided
        self.retryAfter = retryAfter
    }

    package var description: String { "\(component.rawValue): \(detail)" }
}

package enum PortError: Error, Sendable {
    case outage(Outage)
    /// A defect: two parts of the broker, or the broker and its database, disagree. Becomes a 500.
    case broken(String)
}

extension PortError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .outage(let outage): outage.description
        case .broken(let what): what
        }
    }
}

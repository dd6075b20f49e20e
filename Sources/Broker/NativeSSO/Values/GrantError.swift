/// How a grant fails: kinds of failure that must never be mixed up.
public enum GrantError<Refusal: Error>: Error, Sendable {
    /// The id_token is not genuine, or not of the right form. RFC 8693 §2.2.2.
    case invalidIDToken(SubjectTokenDefect)
    /// The caller's doing: becomes an OAuth error.
    case refused(Refusal)
    /// Becomes a 429 with `Retry-After`.
    case limited(RateLimited)
    /// Becomes a 503 with `Retry-After`.
    case outage(Outage)
    /// Ours: `server_error`; the text goes to the log and to nobody else.
    case broken(String)
}

public typealias ExchangeError = GrantError<ExchangeRefusal>
public typealias RefreshError = GrantError<RefreshRefusal>

extension GrantError {
    /// Asks a limit: where it is used up, the grant waits.
    package static func counting(_ charge: () throws(RateLimited) -> Void) throws(GrantError) {
        do throws(RateLimited) {
            try charge()
        } catch {
            throw .limited(error)
        }
    }

    /// Calls a port: what the port cannot do becomes the grant's own failure.
    @inlinable package static func port<Value>(_ call: () throws(PortError) -> Value) throws(GrantError) -> Value {
        do throws(PortError) {
            return try call()
        } catch {
            throw GrantError(error)
        }
    }

    @inlinable package static func port<Value: Sendable>(
        _ call: () async throws(PortError) -> Value
    ) async throws(GrantError) -> Value {
        do throws(PortError) {
            return try await call()
        } catch {
            throw GrantError(error)
        }
    }

    init(_ error: IDTokenVerificationError) {
        switch error {
        case .refused(let defect): self = .invalidIDToken(defect)
        case .outage(let outage): self = .outage(outage)
        }
    }

    @usableFromInline package init(_ error: PortError) {
        switch error {
        case .outage(let outage): self = .outage(outage)
        case .broken(let what): self = .broken(what)
        }
    }
}

public import NativeSSO
import Synchronization

/// Keeps what is charged, and refuses where it is told to.
public final class RecordingUseLimits: UseLimits {
    public enum Charge: Sendable, Hashable {
        case exchange(SessionID?, device: String, client: ClientID)
        case failure(SessionID?)
        case enrolment(Subject, client: ClientID)
        case refusedEnrolment(EnrolledTokenDigest)
        case refresh(UniqueID, client: ClientID)
    }

    private let state = Mutex<(charges: [Charge], refusal: RateLimited?)>(([], nil))

    public init() {}

    /// In the order in which they came.
    public var charges: [Charge] { state.withLock { $0.charges } }

    /// What every charge meets from now on; `nil`: nothing.
    public func refuse(_ refusal: RateLimited?) { state.withLock { $0.refusal = refusal } }

    public func charge(
        exchangeOf idToken: IDTokenClaims, onDevice deviceHash: String, by client: Client
    ) throws(RateLimited) {
        try record(.exchange(idToken.sessionID, device: deviceHash, client: client.id))
    }

    public func charge(failureOf idToken: IDTokenClaims) throws(RateLimited) {
        try record(.failure(idToken.sessionID))
    }

    public func check(
        enrolmentOf idToken: IDTokenClaims, token: EnrolledTokenDigest, by client: Client
    ) throws(RateLimited) {
        if let refusal = state.withLock({ $0.refusal }) { throw refusal }
    }

    public func count(enrolmentOf idToken: IDTokenClaims, by client: Client) {
        state.withLock { $0.charges.append(.enrolment(idToken.subject, client: client.id)) }
    }

    public func charge(failureOf token: EnrolledTokenDigest) throws(RateLimited) {
        try record(.refusedEnrolment(token))
    }

    public func charge(refreshOf grant: UniqueID, by client: Client) throws(RateLimited) {
        try record(.refresh(grant, client: client.id))
    }

    private func record(_ charge: Charge) throws(RateLimited) {
        let refusal = state.withLock { state in
            state.charges.append(charge)
            return state.refusal
        }
        if let refusal { throw refusal }
    }
}

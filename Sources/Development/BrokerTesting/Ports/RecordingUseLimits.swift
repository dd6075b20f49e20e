package import NativeSSO
import Synchronization

/// Records every charge, and refuses when a test sets a refusal.
package final class RecordingUseLimits: UseLimits {
    package enum Charge: Sendable, Hashable {
        case exchange(SessionID?, device: String, client: ClientID)
        case failure(SessionID?)
        case enrolment(Subject, client: ClientID)
        case refusedEnrolment(EnrolledTokenDigest)
        case refresh(UniqueID, client: ClientID)
    }

    private let state = Mutex<(charges: [Charge], refusal: RateLimited?)>(([], nil))

    package init() {}

    /// In the order in which they came.
    package var charges: [Charge] { state.withLock { $0.charges } }

    /// What every charge meets from now on; `nil`: nothing.
    package func refuse(_ refusal: RateLimited?) { state.withLock { $0.refusal = refusal } }

    package func charge(
        exchangeOf idToken: IDTokenClaims, onDevice deviceHash: String, by client: Client
    ) throws(RateLimited) {
        try record(.exchange(idToken.sessionID, device: deviceHash, client: client.id))
    }

    package func charge(failureOf idToken: IDTokenClaims) throws(RateLimited) {
        try record(.failure(idToken.sessionID))
    }

    package func check(
        enrolmentOf idToken: IDTokenClaims, token: EnrolledTokenDigest, by client: Client
    ) throws(RateLimited) {
        if let refusal = state.withLock({ $0.refusal }) { throw refusal }
    }

    package func count(enrolmentOf idToken: IDTokenClaims, by client: Client) {
        state.withLock { $0.charges.append(.enrolment(idToken.subject, client: client.id)) }
    }

    package func charge(failureOf token: EnrolledTokenDigest) throws(RateLimited) {
        try record(.refusedEnrolment(token))
    }

    package func charge(refreshOf grant: UniqueID, by client: Client) throws(RateLimited) {
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

import NIOHTTP1
import NativeSSO
import OAuthWire

extension CodeRefusal {
    /// What the app sees. Of the identity provider's error it is the code alone, and only one of a closed set: the text is ours.
    var answer: RefusalAnswer {
        switch self {
        case .proofReplayed: .invalidProof
        // RFC 6749 §5.2, RFC 7636 §4.6.
        case .verifierMalformed, .used, .provider(.invalidGrant), .provider(.other): .invalidGrant
        case .provider(.invalidRequest): .invalidRequest("The identity provider does not take the code request.")
        case .provider(.invalidClient):
            RefusalAnswer(.badRequest, OAuthErrorResponse(.invalidClient, "The identity provider refused the client."))
        case .provider(.unauthorizedClient):
            .badRequest(.unauthorizedClient, "The client may not use codes at the identity provider.")
        case .provider(.unsupportedGrantType):
            .badRequest(.unsupportedGrantType, "The identity provider does not support the grant type.")
        case .provider(.invalidScope): .badRequest(.invalidScope, "The identity provider refused the scope.")
        case .provider(.interactionRequired):
            .badRequest(.interactionRequired, "The user must log in through this client.")
        // Not a word on the code: the app may try again, and is told then.
        case .inFlight, .relayBusy, .relayShareUsed, .fault, .idToken: Self.unavailable
        case .enrolment(let refusal): Refusal.enrolment(refusal).answer
        }
    }

    private static let unavailable = RefusalAnswer(
        .serviceUnavailable,
        OAuthErrorResponse(.temporarilyUnavailable, "The service is temporarily unavailable."), [("Retry-After", "1")])
}

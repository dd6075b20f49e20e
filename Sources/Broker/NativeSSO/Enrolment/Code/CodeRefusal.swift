/// Why a code leads to no tokens.
public enum CodeRefusal: Error, Sendable, Hashable {
    /// It was not sent, or not again.
    case relay(RelayRefusal)
    /// The identity provider's own word.
    case provider(ProviderError)
    /// The identity provider gave no answer that can be used.
    case fault(ProviderFault)
    /// The identity provider gave an id_token that cannot be used.
    case idToken(SubjectTokenDefect)
    /// The login is genuine, and makes no session.
    case enrolment(EnrolmentRefusal)

    /// Whether the identity provider is at fault, and no caller.
    public var isProviderFault: Bool {
        switch self {
        case .fault, .idToken, .provider(.invalidClient): true
        case .relay, .provider, .enrolment: false
        }
    }
}

/// Why a code is not sent to the identity provider.
public enum RelayRefusal: Sendable, CaseIterable {
    /// The proof of possession was presented before. RFC 9449 §11.1.
    case proofReplayed
    case verifierMalformed
    /// Relayed before: for another request, too long ago, or without a result.
    case used
    /// The same request is being answered.
    case inFlight
    /// As many codes are at the identity provider as may be.
    case relayBusy
    /// As many codes of this app, or from this address.
    case relayShareUsed
}

public typealias CodeError = GrantError<CodeRefusal>

extension CodeRefusal {
    /// The id_token came from the identity provider's own token endpoint: what an app could be blamed for where it shows one
    /// itself is the provider's fault here.
    init(_ refusal: EnrolmentRefusal) {
        switch refusal {
        case .otherClient: self = .fault(.otherClient)
        case .expired, .stale: self = .fault(.stale)
        case .proofReplayed: self = .relay(.proofReplayed)
        default: self = .enrolment(refusal)
        }
    }
}

/// Why a code leads to no tokens. The raw text is what the audit shows; the caller sees less.
public enum CodeRefusal: Error, Sendable, Hashable {
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
    /// The identity provider's own word.
    case provider(ProviderError)
    /// It gave no answer that can be used.
    case fault(ProviderFault)
    /// It gave an id_token that is none.
    case idToken(SubjectTokenDefect)
    /// The login is genuine, and makes no session.
    case enrolment(EnrolmentRefusal)

    public var reason: String {
        switch self {
        case .proofReplayed: "dpop_replayed"
        case .verifierMalformed: "code_verifier_malformed"
        case .used: "code_used"
        case .inFlight: "code_in_flight"
        case .relayBusy: "code_relay_busy"
        case .relayShareUsed: "code_relay_share_used"
        case .provider(let error): error.rawValue
        case .fault(let fault): fault.rawValue
        case .idToken(let defect): defect.rawValue
        case .enrolment(let refusal): refusal.reason
        }
    }

    /// Whether the identity provider, and nobody who calls, is at fault.
    public var isProviderFault: Bool {
        switch self {
        case .fault, .idToken, .provider(.invalidClient): true
        case .proofReplayed, .verifierMalformed, .used, .inFlight, .relayBusy, .relayShareUsed, .provider, .enrolment:
            false
        }
    }

    /// Every refusal there is, for tests that must not forget one.
    public static let allCases: [CodeRefusal] =
        [.proofReplayed, .verifierMalformed, .used, .inFlight, .relayBusy, .relayShareUsed]
        + ProviderError.allCases.map(CodeRefusal.provider) + ProviderFault.allCases.map(CodeRefusal.fault)
        + SubjectTokenDefect.allCases.map(CodeRefusal.idToken) + EnrolmentRefusal.allCases.map(CodeRefusal.enrolment)
}

public typealias CodeError = GrantError<CodeRefusal>

extension CodeRefusal {
    /// The id_token came from the identity provider's own token endpoint: what an app could be blamed for where it shows one
    /// itself is the provider's fault here.
    init(_ refusal: EnrolmentRefusal) {
        switch refusal {
        case .idToken(let defect): self = .idToken(defect)
        case .otherClient: self = .fault(.otherClient)
        case .expired, .stale: self = .fault(.stale)
        case .proofReplayed: self = .proofReplayed
        default: self = .enrolment(refusal)
        }
    }
}

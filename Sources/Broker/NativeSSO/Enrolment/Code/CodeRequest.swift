import StrictCoding

/// A code request with a valid form and a known client: the app sends the broker what it would have sent to the IdP.
package struct CodeRequest: Sendable {
    package let requestID: UniqueID
    package let client: Client
    package let issuer: IssuerPolicy
    package let code: PresentedCode
    /// The `device_id` of the 2018 profile; `nil`: the current profile, or no enrolment at all.
    package let device: DeviceValue?
    /// `device_sso` requests a device secret from this broker. The identity provider may not know the scope.
    package let scope: Scope?
    package let proof: PresentedProof?
    /// Identifies the sender's address; `nil`: the address is unknown, or many callers share it.
    package let origin: UInt64?
    /// For the audit; `nil`: none is known.
    package let trace: UniqueID?

    package init(
        requestID: UniqueID, client: Client, issuer: IssuerPolicy, code: PresentedCode, device: DeviceValue?,
        scope: Scope?, proof: PresentedProof?, origin: UInt64? = nil, trace: UniqueID? = nil
    ) {
        self.requestID = requestID
        self.client = client
        self.issuer = issuer
        self.code = code
        self.device = device
        self.scope = scope
        self.proof = proof
        self.origin = origin
        self.trace = trace
    }

    /// Why the request is refused before the IdP is asked, so that it does not cost the app its code.
    var refusal: CodeRefusal? {
        guard code.isSound else { return .relay(.codeMalformed) }
        guard code.hasSoundVerifier else { return .relay(.verifierMalformed) }
        guard let scope else { return nil }
        if scope.contains(Scope.deviceSSO), !scope.contains("openid") { return .enrolment(.scopeLacksOpenID) }
        return scope.exceeds(client) ? .enrolment(.scopeExceedsClient) : nil
    }

    /// Whether the login becomes a session here. Under the 2018 profile: always. Under the current one: if the IdP
    /// granted `device_sso`, or the app asks this broker for it. Native SSO §3.1.
    func enrols(_ tokens: ProviderTokens) -> Bool {
        if device != nil { return true }
        guard issuer.profiles.contains(.deviceSecret) else { return false }
        let granted = tokens.scope?.utf8.split(separator: UInt8(ascii: " ")) ?? []
        return scope?.contains(Scope.deviceSSO) == true
            || granted.contains { $0.elementsEqual(Scope.deviceSSO.utf8) }
    }
}

/// An authorization code with its redirect URI and verifier. RFC 6749 §4.1.3, RFC 7636 §4.5. Prints as `****`.
package struct PresentedCode: Sendable, Redacted {
    package let code: String
    /// The same value as in the authorization request.
    package let redirectURI: String
    package let verifier: String

    package init(code: String, redirectURI: String, verifier: String) {
        self.code = code
        self.redirectURI = redirectURI
        self.verifier = verifier
    }

    /// Only `VSCHAR`: RFC 6749 App. A.11.
    var isSound: Bool { code.isPrintableASCII() }

    var hasSoundVerifier: Bool { verifier.isVerifier }
}

extension String {
    /// 43 to 128 characters of `[A-Z] / [a-z] / [0-9] / "-" / "." / "_" / "~"`: RFC 7636 §4.1. Any other verifier fits
    /// no challenge.
    var isVerifier: Bool { (43...128).contains(utf8.count) && utf8.allSatisfy(\.isUnreserved) }
}

/// Why a code leads to no tokens.
package enum CodeRefusal: Error, Sendable, Hashable {
    /// The broker did not send it, or not a second time.
    case relay(RelayRefusal)
    /// The identity provider refused it.
    case provider(ProviderError)
    /// The identity provider gave no answer.
    case fault(ProviderFault)
    /// The identity provider's answer is unusable. This is final: no request gets another answer to that code.
    case unusable(AnswerFault)
    /// The same, because of its id_token.
    case idToken(SubjectTokenDefect)
    /// The login is genuine, but a rule forbids its session.
    case enrolment(EnrolmentRefusal)

    /// Whether the identity provider caused the failure, not a caller.
    package var isProviderFault: Bool {
        switch self {
        case .fault, .unusable, .idToken, .provider(.invalidClient): true
        case .relay, .provider, .enrolment: false
        }
    }
}

/// Why a code is not sent to the identity provider.
package enum RelayRefusal: Sendable, CaseIterable {
    /// The proof of possession was presented before. RFC 9449 §11.1.
    case proofReplayed
    case codeMalformed
    case verifierMalformed
    /// Relayed before: for another request, too long ago, or without a result.
    case used
    /// The same request is being answered.
    case inFlight
    /// The identity provider has its maximum number of concurrent codes.
    case relayBusy
    /// This app or address has its maximum number of concurrent codes.
    case relayShareUsed
}

package typealias CodeError = GrantError<CodeRefusal>

extension CodeRefusal {
    /// The id_token came from the IdP's own token endpoint. A defect that would be the app's fault in an exchange is
    /// the IdP's fault here.
    init(_ refusal: EnrolmentRefusal) {
        switch refusal {
        case .otherClient: self = .unusable(.otherClient)
        case .expired, .stale: self = .unusable(.stale)
        case .proofReplayed: self = .relay(.proofReplayed)
        default: self = .enrolment(refusal)
        }
    }
}

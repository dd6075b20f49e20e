/// A code request whose form is sound and whose client is known: the app sends the broker what it would have sent the identity
/// provider.
public struct CodeRequest: Sendable {
    public let requestID: UniqueID
    public let client: Client
    public let issuer: IssuerPolicy
    public let code: PresentedCode
    /// The `device_id` of the 2018 profile; `nil`: the current profile, or no enrolment at all.
    public let device: DeviceValue?
    /// With `device_sso`: the app wants a device secret, although the identity provider may not know the word.
    public let scope: Scope?
    public let proof: PresentedProof?
    /// Stands for the address that it comes from; `nil`: one that is everybody's, or unknown.
    public let origin: UInt64?

    public init(
        requestID: UniqueID, client: Client, issuer: IssuerPolicy, code: PresentedCode, device: DeviceValue?,
        scope: Scope?, proof: PresentedProof?, origin: UInt64? = nil
    ) {
        self.requestID = requestID
        self.client = client
        self.issuer = issuer
        self.code = code
        self.device = device
        self.scope = scope
        self.proof = proof
        self.origin = origin
    }

    /// What is wrong with it before anybody is asked, so that it costs the app no code.
    var refusal: CodeRefusal? {
        guard code.hasSoundVerifier else { return .relay(.verifierMalformed) }
        guard let scope else { return nil }
        if scope.contains(ScopeDemand.ignoredToken), !scope.contains("openid") {
            return .enrolment(.scopeLacksOpenID)
        }
        return scope.removing(ScopeDemand.ignoredToken).isSubset(of: client.allowedScope)
            ? nil : .enrolment(.scopeExceedsClient)
    }

    /// Whether the login becomes a session here: under the 2018 profile always; under the current one where `device_sso` was
    /// granted, or is asked for of this broker. Native SSO §3.1.
    func enrols(_ tokens: ProviderTokens) -> Bool {
        if device != nil { return true }
        guard issuer.profiles.contains(.deviceSecret) else { return false }
        let granted = tokens.scope?.utf8.split(separator: UInt8(ascii: " ")) ?? []
        return scope?.contains(ScopeDemand.ignoredToken) == true
            || granted.contains { $0.elementsEqual(ScopeDemand.ignoredToken.utf8) }
    }
}

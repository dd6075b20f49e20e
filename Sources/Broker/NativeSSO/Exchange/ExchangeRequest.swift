/// An exchange whose form is sound and whose client is known; it prints as `****`.
public final class ExchangeRequest: Sendable, CustomStringConvertible, CustomReflectable {
    public let requestID: UniqueID
    /// The app that asks, as authenticated.
    public let client: Client
    /// The issuer that `audience` named.
    public let issuer: IssuerPolicy
    public let subjectToken: SubjectToken
    public let device: DeviceValue
    /// `nil` where the request named no scope.
    public let scope: Scope?
    /// `nil` where the app showed no key, or the client's policy heeds none.
    public let proof: PresentedProof?
    /// `nil` where the client authenticated otherwise, or not at all.
    public let assertion: PresentedAssertion?

    public init(
        requestID: UniqueID, client: Client, issuer: IssuerPolicy, subjectToken: SubjectToken, device: DeviceValue,
        scope: Scope?, proof: PresentedProof? = nil, assertion: PresentedAssertion? = nil
    ) {
        self.requestID = requestID
        self.client = client
        self.issuer = issuer
        self.subjectToken = subjectToken
        self.device = device
        self.scope = scope
        self.proof = proof
        self.assertion = assertion
    }

    public var profile: Profile { device.profile }

    public var description: String { "ExchangeRequest(****)" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

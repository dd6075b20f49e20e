/// An enrolment by exchange whose form is sound and whose client is known: the app shows the id_token of its own login, and
/// the broker gives it one that its sibling apps can use.
public struct EnrolmentRequest: Sendable {
    public let requestID: UniqueID
    /// The app that asks, as authenticated.
    public let client: Client
    /// The identity provider that `audience` named.
    public let issuer: IssuerPolicy
    public let idToken: SubjectToken
    /// The `device_id` of the 2018 profile; `nil`: the current profile.
    public let device: DeviceValue?
    /// `nil` where the request named no scope.
    public let scope: Scope?
    /// `nil` where the app showed no key, or the client's policy heeds none.
    public let proof: PresentedProof?
    /// By which the client authenticated; `nil`: otherwise, or not at all.
    public let assertion: PresentedAssertion?

    public init(
        requestID: UniqueID, client: Client, issuer: IssuerPolicy, idToken: SubjectToken, device: DeviceValue?,
        scope: Scope?, proof: PresentedProof? = nil, assertion: PresentedAssertion? = nil
    ) {
        self.requestID = requestID
        self.client = client
        self.issuer = issuer
        self.idToken = idToken
        self.device = device
        self.scope = scope
        self.proof = proof
        self.assertion = assertion
    }

    var profile: Profile { device?.profile ?? .deviceSecret }
}

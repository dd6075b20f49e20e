/// An enrolment by exchange whose form is sound and whose client is known: the app shows the id_token of its own login, and
/// the broker gives it one that its sibling apps can use.
public final class EnrolmentRequest: Sendable {
    /// How the id_token came. The raw value is what the audit shows.
    public enum Manner: String, Sendable {
        /// The app showed it.
        case exchange
        /// The broker got it from the identity provider, for the app's code.
        case code
    }

    public let requestID: UniqueID
    /// The app that asks, as authenticated.
    public let client: Client
    /// The identity provider that `audience` named.
    public let issuer: IssuerPolicy
    public let idToken: SubjectToken
    public let manner: Manner
    /// The `device_id` of the 2018 profile; `nil`: the current profile.
    public let device: DeviceValue?
    /// `nil` where the request named no scope.
    public let scope: Scope?
    /// `nil` where the app showed no key, or the client's policy heeds none.
    public let proof: PresentedProof?
    /// By which the client authenticated; `nil`: otherwise, or not at all.
    public let assertion: PresentedAssertion?

    public init(
        requestID: UniqueID, client: Client, issuer: IssuerPolicy, idToken: SubjectToken,
        manner: Manner = .exchange, device: DeviceValue?, scope: Scope?, proof: PresentedProof? = nil,
        assertion: PresentedAssertion? = nil
    ) {
        self.requestID = requestID
        self.client = client
        self.issuer = issuer
        self.idToken = idToken
        self.manner = manner
        self.device = device
        self.scope = scope
        self.proof = proof
        self.assertion = assertion
    }

    public var profile: Profile { device?.profile ?? .deviceSecret }
}

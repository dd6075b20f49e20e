import NativeSSO
import OAuthWire

/// The client as the request presents it, through exactly one mechanism. RFC 6749 §2.3.
struct PresentedClient: Sendable {
    /// As written; where only an assertion names the client, as the assertion says, which is not verified yet.
    let id: String
    let credential: ClientCredential?
    let usedAuthorization: Bool

    var method: Client.Authentication {
        switch credential {
        case nil: .none
        case .secret: .clientSecretBasic
        case .assertion: .privateKeyJWT
        }
    }

    /// - Parameter authorization: Every `Authorization` field of the request.
    init(authorization: [String], _ parameters: ClientParameters) throws(Refusal) {
        guard authorization.count <= 1 else { throw .request(.authorizationRepeated) }
        guard let header = authorization.first else {
            try self.init(parameters)
            return
        }
        switch AuthorizationHeader(header) {
        case .otherScheme: throw Self.refused(.unknownScheme)
        case .malformedBasic: throw Self.refused(.malformedBasic)
        case .basic(let basic):
            guard parameters.clientSecret == nil, parameters.assertion == nil
            else { throw .request(.severalMechanisms) }
            // An identifier in the body is no second mechanism, as long as it names the same client.
            if let id = parameters.clientID, !id.utf8.elementsEqual(basic.clientID.utf8) {
                throw .request(.clientIDMismatch)
            }
            self.init(
                id: basic.clientID, credential: basic.clientSecret.map(ClientCredential.secret),
                usedAuthorization: true)
        }
    }

    private init(id: String, credential: ClientCredential?, usedAuthorization: Bool) {
        self.id = id
        self.credential = credential
        self.usedAuthorization = usedAuthorization
    }

    private init(_ parameters: ClientParameters) throws(Refusal) {
        switch (parameters.clientSecret, parameters.assertion) {
        case (.some, .some): throw .request(.severalMechanisms)
        case (.some, nil): throw Self.refused(.postedSecret, usedAuthorization: false)
        case (nil, let assertion?): try self.init(assertion, parameters.clientID)
        case (nil, nil):
            guard let id = parameters.clientID else { throw Self.refused(.missing, usedAuthorization: false) }
            self.init(id: id, credential: nil, usedAuthorization: false)
        }
    }

    /// RFC 7521 §4.2: `client_id` is optional beside an assertion, and must not name another client. That it does not is
    /// seen when the assertion is verified as that client's.
    private init(_ assertion: ClientParameters.Assertion, _ clientID: String?) throws(Refusal) {
        guard assertion.type == .jwtBearer, let jwt = assertion.jwt
        else { throw Self.refused(.assertionIncomplete, usedAuthorization: false) }
        let reading = Result { () throws(ClientRefusal) in try ClientAssertion(jwt.secret) }
        let id: String
        switch (clientID, reading) {
        case (let clientID?, _): id = clientID
        case (nil, .success(let assertion)):
            guard let claimed = assertion.claimedClient
            else { throw Self.refused(.assertionSubject, usedAuthorization: false) }
            id = claimed.string
        case (nil, .failure(let reason)): throw Self.refused(reason, usedAuthorization: false)
        }
        self.init(id: id, credential: .assertion(reading), usedAuthorization: false)
    }

    private static func refused(_ reason: ClientRefusal, usedAuthorization: Bool = true) -> Refusal {
        .client(Refusal.ClientFailure(reason: reason, client: nil, usedAuthorization: usedAuthorization))
    }
}

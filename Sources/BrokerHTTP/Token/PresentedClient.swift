import NativeSSO
import OAuthWire

/// The client as the request presents it, through exactly one mechanism. RFC 6749 §2.3.
struct PresentedClient: Sendable {
    /// As written; `nil` where only an assertion names the client.
    let id: String?
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

    private init(id: String?, credential: ClientCredential?, usedAuthorization: Bool) {
        self.id = id
        self.credential = credential
        self.usedAuthorization = usedAuthorization
    }

    private init(_ parameters: ClientParameters) throws(Refusal) {
        usedAuthorization = false
        id = parameters.clientID
        switch (parameters.clientSecret, parameters.assertion) {
        case (.some, .some): throw .request(.severalMechanisms)
        case (.some, nil): throw Self.refused(.postedSecret, usedAuthorization: false)
        case (nil, let assertion?):
            guard assertion.type == .jwtBearer, let jwt = assertion.jwt
            else { throw Self.refused(.authenticationFailed, usedAuthorization: false) }
            credential = .assertion(jwt)
        case (nil, nil):
            guard id != nil else { throw Self.refused(.missing, usedAuthorization: false) }
            credential = nil
        }
    }

    private static func refused(_ reason: ClientRefusal, usedAuthorization: Bool = true) -> Refusal {
        .client(Refusal.ClientFailure(reason: reason, client: nil, usedAuthorization: usedAuthorization))
    }
}

/// The parameters of a token request, to be bent one at a time.
package struct TokenForm: Sendable {
    package private(set) var parameters: [(name: String, value: String)]

    package init(_ parameters: KeyValuePairs<String, String>) {
        self.parameters = parameters.map { (name: $0.key, value: $0.value) }
    }

    /// Sets a parameter in its place, or appends it; `nil` leaves it out.
    package subscript(_ name: String) -> String? {
        get { parameters.first { $0.name == name }?.value }
        set {
            let index = parameters.firstIndex { $0.name == name }
            switch (index, newValue) {
            case (let index?, let value?): parameters[index].value = value
            case (let index?, nil): parameters.remove(at: index)
            case (nil, let value?): append(name, value)
            case (nil, nil): break
            }
        }
    }

    /// Adds a parameter even where it is there already.
    package mutating func append(_ name: String, _ value: String) { parameters.append((name: name, value: value)) }

    package static func refresh(_ token: String, client: String) -> TokenForm {
        TokenForm(["grant_type": "refresh_token", "client_id": client, "refresh_token": token])
    }

    /// Native SSO §4.1.
    package static func exchange(
        _ idToken: String, issuer: String, device: String, profile: NativeProfile, client: String, scope: String? = nil
    ) -> TokenForm {
        var form = TokenForm([
            "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "client_id": client, "audience": issuer,
            "subject_token": idToken, "subject_token_type": "urn:ietf:params:oauth:token-type:id_token",
            "actor_token": device, "actor_token_type": profile.rawValue,
        ])
        form["scope"] = scope
        return form
    }

    /// An app brings the id_token of its login, and asks for one of the broker.
    /// - Parameter device: Its own value, in the profile of 2018; in the others the broker makes a device secret.
    package static func enrolment(
        _ idToken: String, issuer: String, device: String, profile: NativeProfile, client: String
    ) -> TokenForm {
        var form = TokenForm([
            "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "client_id": client, "audience": issuer,
            "subject_token": idToken, "subject_token_type": "urn:ietf:params:oauth:token-type:id_token",
            "requested_token_type": "urn:ietf:params:oauth:token-type:id_token",
        ])
        if profile == .deviceID {
            form["actor_token"] = device
            form["actor_token_type"] = profile.rawValue
        } else {
            form["scope"] = "openid device_sso"
        }
        return form
    }

    /// An app brings the code of its login, which the broker redeems.
    /// - Parameter profile: `nil`: it wants nothing but the answer of the identity provider.
    package static func code(
        _ code: String = Unguessable.make(), verifier: String = Unguessable.make(),
        redirectURI: String = "https://app.example/cb", device: String, profile: NativeProfile?, client: String
    ) -> TokenForm {
        var form = TokenForm([
            "grant_type": "authorization_code", "client_id": client, "code": code, "redirect_uri": redirectURI,
            "code_verifier": verifier,
        ])
        switch profile {
        case .deviceID: form["device_id"] = device
        case .deviceSecret, .transitional: form["scope"] = "openid device_sso"
        case nil: break
        }
        return form
    }

    /// The type of a code that hands a login to a web app.
    package static let webHandoff = "urn:x-native-sso:params:token-type:web-handoff"

    /// A web app redeems such a code.
    package static func redemption(_ code: String, verifier: String, origin: String) -> TokenForm {
        TokenForm([
            "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "subject_token": code,
            "subject_token_type": webHandoff, "handoff_origin": origin, "handoff_verifier": verifier,
        ])
    }
}

/// The three profiles by the type of their actor token.
package enum NativeProfile: String, Sendable, CaseIterable {
    /// The 2018 slides.
    case deviceID = "urn:x-oath:params:oauth:token-type:device-id"
    /// Drafts 02 to 06.
    case transitional = "urn:x-oath:params:oauth:token-type:device-secret"
    /// Draft 07.
    case deviceSecret = "urn:openid:params:token-type:device-secret"

    /// The claim that binds an id_token to the device.
    package var hashClaim: String { self == .deviceID ? "di_hash" : "ds_hash" }
}

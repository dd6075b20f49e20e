import NativeSSO

extension ClientRefusal {
    var explanation: RefusalExplanation {
        switch self {
        case .missing: .init("the request names no client", "Send client_id.")
        case .unknown:
            .init(
                "no client of this name is registered",
                "Check client_id; the operator registers: native-sso client add.")
        case .disabled:
            .init("the client is disabled", "The operator can enable it again: native-sso client enable.")
        case .methodMismatch:
            .init(
                "the client proves who it is by another method than it is registered for",
                "Use the registered method (native-sso client show): it is for good, and a client with none sends client_id alone."
            )
        case .authenticationFailed:
            .init(
                "the client's secret is none of its live ones",
                "Use the present secret; the operator makes a new one: native-sso client secret rotate.")
        case .malformedBasic:
            .init(
                "the Authorization header is no Basic credentials of a client",
                "Form-encode client_id and secret before base64 (RFC 6749 §2.3.1).")
        case .unknownScheme: .init("the Authorization header has another scheme than Basic", "Use Basic.")
        case .postedSecret:
            .init("the secret is in the body", "Send it in the Authorization header, as client_secret_basic.")
        case .assertionIncomplete:
            .init(
                "client_assertion or its type is missing or unknown",
                "Send both, with the type urn:ietf:params:oauth:client-assertion-type:jwt-bearer.")
        case .assertionMalformed:
            .init("the client assertion is no compact JWS, or its JSON is malformed", "Make it with a JWT library.")
        case .assertionHeader:
            .init("the header of the client assertion has what is not understood", "Send alg, typ and kid.")
        case .assertionWrongType:
            .init("typ of the client assertion is another", "Send JWT, or client-authentication+jwt.")
        case .assertionAlgorithm:
            .init("alg of the client assertion is not that of the key", "Sign as the registered key's alg says.")
        case .assertionUnknownKey:
            .init(
                "the client has no key of this kid",
                "Register its public part, and wait some seconds: native-sso client key add.")
        case .assertionSignature:
            .init(
                "the signature of the client assertion does not fit the registered key",
                "Compare the keys: native-sso client key list shows the registered ones.")
        case .assertionIssuer: .init("iss of the client assertion is not the client", "Send client_id as iss.")
        case .assertionSubject: .init("sub of the client assertion is not the client", "Send client_id as sub.")
        case .assertionAudience:
            .init("aud of the client assertion is not this broker alone", "Send the broker's issuer and nothing else.")
        case .assertionExpiry:
            .init(
                "exp of the client assertion is missing, past, or more than 5 minutes after iat or now",
                "Make an assertion for each request, and set the clock.")
        case .assertionNotBefore:
            .init("nbf of the client assertion is malformed or ahead", "Set the clock, or leave nbf out.")
        case .assertionIssuedAt:
            .init(
                "iat of the client assertion is malformed or ahead", "Set the clock, and make one for each request.")
        case .assertionID: .init("the client assertion has no jti, or a malformed one", "Send a random one.")
        case .assertionReplayed:
            .init(
                "the client assertion was used before, at this broker or another",
                "Make a new one for each request, also for a retry. If the client did not send it twice, somebody has a copy."
            )
        }
    }
}

extension RateLimited.Limit {
    var explanation: RefusalExplanation {
        switch self {
        case .listener:
            .init(
                "all callers together made more requests than limits.listener allows",
                "Wait for Retry-After. The operator looks at who sends so many, and whether the limit fits the apps.")
        case .logout:
            .init(
                "more logout tokens came from one address than limits.logout allows: of one identity provider, or signed by none",
                "Send the same logout token again after Retry-After. The operator looks at who reaches the internal listener."
            )
        case .address:
            .init(
                "too many requests came from one address",
                "Wait for Retry-After. Behind a proxy, name it in public.trusted_proxies; the limit is limits.address.")
        case .network:
            .init("too many requests came from one network", "Wait for Retry-After; the limit is limits.network.")
        case .client:
            .init(
                "the client made too many requests",
                "Wait for Retry-After, and look for a loop in the app; the limit is limits.client.")
        case .clientFailures:
            .init(
                "the client failed to prove who it is too often, from one address",
                "Mend its credentials first: the right ones always pass; the limit is limits.client_failures.")
        case .session:
            .init(
                "the app used this login too often",
                "Wait for Retry-After. Keep the access token until it expires; the limit is limits.session.")
        case .user:
            .init(
                "the user's logins were exchanged too often",
                "Wait for Retry-After, and refresh instead of exchanging again; the limit is limits.user.")
        case .device:
            .init(
                "the device made too many exchanges",
                "Wait for Retry-After, and refresh instead of exchanging again; the limit is limits.device.")
        case .code:
            .init(
                "one address has brought codes more often than limits.code allows",
                "Wait for Retry-After: the code was not sent. Behind a proxy, name it in public.trusted_proxies.")
        case .deviceFailures:
            .init(
                "the login was shown with wrong device values too often",
                "Wait for Retry-After, and read id_token and device value from the same keychain item. If no app did this, somebody has a copy of the id_token."
            )
        }
    }
}

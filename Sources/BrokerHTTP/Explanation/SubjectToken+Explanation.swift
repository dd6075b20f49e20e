import NativeSSO

extension SubjectTokenDefect {
    var explanation: RefusalExplanation {
        switch self {
        case .malformed:
            .init(
                "the id_token is no compact JWS, or its JSON is malformed (a member twice, for instance) or larger than what is read",
                "Send it exactly as the identity provider gave it; if it was, the identity provider puts fewer claims into it."
            )
        case .headerRefused:
            .init(
                "the header of the id_token has what is not understood",
                "Send an id_token that is signed, not encrypted.")
        case .wrongType: .init("typ of the token is not that of an id_token", "Send the id_token.")
        case .algorithmNotAllowed:
            .init(
                "the id_token is signed by an algorithm that is not configured",
                "The operator lists what the identity provider signs with in algorithms.")
        case .unknownKey:
            .init(
                "the id_token is signed by a key that the identity provider never published here",
                "Check audience and iss: the token may be another provider's, or of another environment.")
        case .keyRetired:
            .init(
                "the key of the id_token left the identity provider's key set, and the token was not made while it was there",
                "The user logs in again.")
        case .keyRevoked:
            .init("the key of the id_token was revoked by an operator", "The user logs in again.")
        case .badSignature: .init("the signature of the id_token is wrong", "Send it unchanged.")
        case .issuerMismatch:
            .init(
                "iss of the id_token is not the identity provider that audience names", "Send its own iss as audience.")
        case .subject: .init("sub of the id_token is missing or malformed", "Ask the identity provider.")
        case .audience: .init("aud of the id_token is missing or malformed", "Ask the identity provider.")
        case .authorizedParty:
            .init(
                "the id_token has several audiences and no azp, or an azp that is none of them",
                "Ask the identity provider.")
        case .sessionID:
            .init(
                "sid of the id_token is missing or malformed",
                "The identity provider must send one; a login that is enrolled here may be without.")
        case .deviceHash:
            .init(
                "the id_token is bound to no device: di_hash or ds_hash is missing or malformed",
                "App 1 asks for the device_sso scope, or sends device_id, when it logs in; or it enrols its login here."
            )
        case .issuedAt:
            .init("iat of the id_token is missing, malformed or ahead", "Check the identity provider's clock.")
        case .expiry: .init("exp of the id_token is missing, malformed or not after iat", "Ask the identity provider.")
        case .notBefore: .init("nbf of the id_token is malformed or ahead", "Check the identity provider's clock.")
        case .authenticationTime:
            .init("auth_time of the id_token is malformed or later than iat", "Ask the identity provider.")
        case .login: .init("acr or amr of the id_token is malformed", "Ask the identity provider.")
        case .logoutToken: .init("the token is a logout token", "Send the id_token.")
        case .accessToken: .init("the token is an access token", "Send the id_token.")
        case .actorClaim: .init("the token was itself delegated (act)", "Send the id_token of a login.")
        case .mayAct: .init("may_act of the id_token is malformed", "Ask the identity provider.")
        case .notEnrolled:
            .init(
                "the id_token is this broker's, and no enrolment gave it for a use like this",
                "Send the id_token that the enrolment answered with, and the identity provider's iss as audience.")
        }
    }
}

extension ExchangeRefusal {
    var explanation: RefusalExplanation {
        switch self {
        case .subjectToken(let defect): defect.explanation
        case .mayActOther:
            .init("may_act of the id_token names another app", "Only the app that it names may exchange it.")
        case .assertionReplayed: ClientRefusal.assertionReplayed.explanation
        case .proofReplayed:
            .init(
                "the DPoP proof was used before, at this broker or another",
                "Make a proof for each request, also for a retry.")
        case .subjectTokenTooOld:
            .init(
                "the id_token is older than subject_token_max_age", "App 1 logs in again, or renews its id_token.")
        case .subjectTokenExpired:
            .init(
                "the id_token is expired, and this identity provider is configured with require_unexpired",
                "App 1 renews its id_token.")
        case .deviceHashMismatch:
            .init(
                "the device value is not the one that the id_token is bound to (di_hash or ds_hash)",
                "Read both from the same keychain item, and send the value as it lies there. After a new login both are new."
            )
        case .selfExchange:
            .init(
                "the app exchanges its own id_token",
                "It has its own tokens; the operator can allow it: native-sso client update --self-exchange.")
        case .sourceNotInGroup:
            .init(
                "the app that logged in is in no sharing group of this identity provider",
                "The operator adds it: native-sso group member add.")
        case .clientNotInGroup:
            .init(
                "the app that asks is in no sharing group of this identity provider",
                "The operator adds it: native-sso group member add.")
        case .otherGroup:
            .init(
                "the two apps are in two sharing groups", "Only apps of one group share logins: native-sso group list.")
        case .directionForbidden:
            .init(
                "the roles in the sharing group do not let the login go this way",
                "The app that logged in must be source or both, the app that asks target or both: native-sso group member add --role."
            )
        case .audienceOutsideGroup:
            .init(
                "the id_token is also for an app outside the sharing group",
                "App 1 asks for an id_token for itself alone, or the operator adds the other app.")
        case .clientDisabled:
            .init("the app that asks is disabled", "The operator can enable it again: native-sso client enable.")
        case .sessionUnknown:
            .init(
                "the broker does not know the login that sid names",
                "Enrol or register the login, or let the operator set admit_on_first_sight; that needs an id_token that is not expired."
            )
        case .sessionEnded:
            .init("the login is over: the user logged out, or an operator ended it", "The user logs in again.")
        case .sessionExpired:
            .init("the login has reached its absolute lifetime (sessions.absolute)", "The user logs in again.")
        case .sessionIdle:
            .init("no app has used the login for longer than sessions.idle", "The user logs in again.")
        case .subjectMismatch:
            .init(
                "the login that sid names is another user's",
                "Delete what the keychain holds and log in again; if it stays so, the identity provider gives one sid to two users."
            )
        case .deviceBlocked:
            .init("an operator has blocked the device", "The operator can unblock it: native-sso device unblock.")
        case .pinConflict:
            .init(
                "the app showed another DPoP key on this device before, or shows none now",
                "Use the key that the app made on this device. If it lost that key, the user logs in again with a new device value; if it did not, somebody has a copy of id_token and device value."
            )
        case .scopeLacksOpenID:
            .init("the scope has no openid", "Add it: this profile requires it where a scope is named.")
        case .scopeEmpty:
            .init(
                "no scope is asked for, and the app has no default scope",
                "Name a scope, or let the operator set one: native-sso client update --default-scope.")
        case .scopeExceedsClient:
            .init(
                "the scope is beyond the client's allowed scope",
                "Ask for less, or let the operator allow it: native-sso client update --allowed-scope.")
        case .scopeExceedsMember:
            .init(
                "the scope is beyond the ceiling of the app's membership in the sharing group",
                "Ask for less, or let the operator raise it: native-sso group member add --scope-ceiling.")
        case .consentRequired:
            .init(
                "the scope needs the consent of the user, which no exchange can give",
                "The user logs in through this app, in the browser, with this scope; or ask for less.")
        case .assuranceInsufficient:
            .init(
                "the login is not as strong or as recent as this app asks (accepted acr, maximum authentication age)",
                "The user logs in through this app, in the browser, with the acr_values and max_age that native-sso client show has: draft 07 has them in the answer, too."
            )
        case .loginAfterReplay:
            .init(
                "somebody used a copy of this app's refresh token in this login, so its id_token may be in the same hands",
                "The user logs in again, in the browser (max_age=0), and the app exchanges the id_token of that login.")
        }
    }
}

extension EnrolmentRefusal {
    var explanation: RefusalExplanation {
        switch self {
        case .idToken(let defect): defect.explanation
        case .assertionReplayed: ClientRefusal.assertionReplayed.explanation
        case .proofReplayed: ExchangeRefusal.proofReplayed.explanation
        case .otherClient:
            .init("the id_token is for another app, or for several", "An app enrols its own login alone.")
        case .expired: .init("the id_token is expired", "Enrol right after the login.")
        case .stale: .init("the id_token is more than 5 minutes old", "Enrol right after the login.")
        case .deviceHashMismatch:
            .init("the id_token is bound to another device value", "Send the value that went with the login.")
        case .clientDisabled:
            .init("the app is disabled", "The operator can enable it again: native-sso client enable.")
        case .clientNotInGroup:
            .init(
                "the app is in no sharing group of this identity provider",
                "The operator adds it: native-sso group member add.")
        case .directionForbidden:
            .init(
                "the app's role in the sharing group is target: nobody may use its logins",
                "The operator changes it: native-sso group member add --role both.")
        case .loginEnded: .init("the login is over already", "The user logs in again.")
        case .deviceBlocked:
            .init("an operator has blocked the device", "The operator can unblock it: native-sso device unblock.")
        case .pinConflict: ExchangeRefusal.pinConflict.explanation
        case .tokenUsed:
            .init(
                "the id_token was enrolled before, with another device value, or that session is over",
                "Use what the first enrolment gave, or log in again. If the app did not enrol twice, somebody has a copy."
            )
        case .scopeLacksOpenID: .init("the scope has no openid", "Add openid to it.")
        case .scopeLacksDeviceSSO: .init("the scope has no device_sso", "Add it: it asks for the device_secret.")
        case .scopeExceedsClient:
            .init(
                "the scope is beyond the client's allowed scope",
                "Ask for less, or let the operator allow it: native-sso client update --allowed-scope.")
        }
    }
}

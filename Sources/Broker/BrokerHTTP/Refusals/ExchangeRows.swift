// swift-format-ignore-file
// Rows of the table of refusals: see RefusalRow.swift.

package import NativeSSO
import OAuthWire

// MARK: The id_token of an exchange or enrolment. RFC 8693 §2.2.2: form, cryptography and claims

extension SubjectTokenDefect: RefusalCase {
    package var row: RefusalRow { RefusalRow(words, .invalidSubjectToken) }

    private var words: RefusalRow.Words {
        switch self {
        case .malformed: ("subject_token_malformed",
            "the id_token is not a compact JWS, or its JSON is malformed (for instance, a member appears twice) or too large",
            "Send it exactly as the identity provider gave it. If the app does so already, the identity provider must put fewer claims into it.")
        case .headerRefused: ("subject_token_header_refused",
            "the header of the id_token has a member that the broker does not understand",
            "Send an id_token that is signed, not encrypted.")
        case .wrongType: ("subject_token_wrong_typ", "typ of the token is not that of an id_token", "Send the id_token.")
        case .algorithmNotAllowed: ("subject_token_alg_not_allowed",
            "the id_token is signed by an algorithm that is not configured",
            "The operator adds the identity provider's algorithm to algorithms.")
        case .unknownKey: ("subject_token_unknown_key",
            "the id_token is signed by a key that the broker never saw in the identity provider's key set",
            "Check audience and iss: the token may come from another provider or another environment.")
        case .keyRetired: ("subject_token_key_retired",
            "the identity provider removed the key of the id_token from its key set, and the token was not issued while the key was there",
            "The user logs in again.")
        case .keyRevoked: ("subject_token_key_revoked", "the key of the id_token was revoked by an operator",
            "The user logs in again.")
        case .badSignature: ("subject_token_bad_signature", "the signature of the id_token is wrong", "Send it unchanged.")
        case .issuerMismatch: ("subject_token_iss", "iss of the id_token is not the identity provider that audience names",
            "Send its own iss as audience.")
        case .subject: ("subject_token_sub",
            "sub of the id_token is missing or malformed, or longer than 255 characters with its subject_prefix",
            "Ask the identity provider, or let the operator choose a shorter subject_prefix.")
        case .subjectReserved: ("subject_token_sub_reserved",
            "sub of the id_token begins with the subject_prefix of another identity provider, so that it could name a user of that one",
            "The operator gives this identity provider a subject_prefix, too, or gives the other one a prefix that no sub here begins with.")
        case .audience: ("subject_token_aud", "aud of the id_token is missing or malformed", "Ask the identity provider.")
        case .authorizedParty: ("subject_token_azp",
            "the id_token has several audiences, and azp is missing or not one of them", "Ask the identity provider.")
        case .sessionID: ("subject_token_sid", "sid of the id_token is missing or malformed",
            "The identity provider must send sid. Only a login that is enrolled here may lack it.")
        case .deviceHash: ("subject_token_device_hash",
            "the id_token is bound to no device: di_hash or ds_hash is missing or malformed",
            "The app that logs in asks for the scope device_sso or sends device_id, or it enrols its login here.")
        case .issuedAt: ("subject_token_iat", "iat of the id_token is missing, malformed or ahead",
            "Check the identity provider's clock.")
        case .expiry: ("subject_token_exp", "exp of the id_token is missing, malformed or not after iat",
            "Ask the identity provider.")
        case .notBefore: ("subject_token_nbf", "nbf of the id_token is malformed or ahead",
            "Check the identity provider's clock.")
        case .authenticationTime: ("subject_token_auth_time", "auth_time of the id_token is malformed or later than iat",
            "Ask the identity provider.")
        case .login: ("subject_token_acr_amr", "acr or amr of the id_token is malformed", "Ask the identity provider.")
        case .logoutToken: ("subject_token_is_logout_token", "the token is a logout token", "Send the id_token.")
        case .accessToken: ("subject_token_is_access_token", "the token is an access token", "Send the id_token.")
        case .actorClaim: ("subject_token_act", "the token was itself delegated (act)", "Send the id_token of a login.")
        case .mayAct: ("subject_token_may_act", "may_act of the id_token is malformed", "Ask the identity provider.")
        case .notEnrolled: ("subject_token_not_enrolled",
            "this broker issued the id_token, but not by an enrolment that allows this use",
            "Send the id_token that the enrolment answered with, and the identity provider's iss as audience.")
        }
    }
}

// MARK: Exchange. Native SSO §4.3: one answer for all that depends on state, binding or relationship

extension ExchangeRefusal: RefusalCase {
    package var row: RefusalRow {
        switch self {
        // RFC 8693 §4.4.
        case .mayActOther: .init("may_act_other_client", .invalidSubjectToken, "may_act of the id_token names another app",
            "Only the app that it names may exchange it.")
        case .assertionReplayed: .assertionReplayed
        case .proofReplayed: .proofReplayed
        case .subjectTokenTooOld: .init("subject_token_too_old", "the id_token is older than subject_token_max_age",
            "The app that logged in renews its id_token, or the user logs in again.")
        case .subjectTokenExpired: .init("subject_token_expired",
            "the id_token is expired, and this identity provider is configured with require_unexpired",
            "The app that logged in renews its id_token.")
        case .deviceHashMismatch: .init("device_hash_mismatch",
            "the device value is not the one that the id_token is bound to (di_hash or ds_hash)",
            "Read both from the same keychain item, and send the value unchanged. A new login replaces both.")
        case .selfExchange: .init("self_exchange", "the app exchanges its own id_token",
            "The operator can allow it: native-sso client update --self-exchange.")
        case .sourceNotInGroup: .init("source_not_in_group",
            "the app that logged in is in no sharing group of this identity provider",
            "The operator adds it: native-sso group member add.")
        case .clientNotInGroup: .clientNotInGroup
        case .otherGroup: .init("group_mismatch", "the two apps are in different sharing groups",
            "Only apps of one group share logins: native-sso group list.")
        case .directionForbidden: .init("direction_forbidden",
            "the roles in the sharing group do not let this app use logins of the other",
            "The app that logged in needs the role source or both. The requesting app needs target or both: native-sso group member add --role.")
        case .audienceOutsideGroup: .init("audience_outside_group", "the id_token is also for an app outside the sharing group",
            "The app that logged in asks for an id_token for itself alone, or the operator adds the other app to the group.")
        case .clientDisabled: .clientDisabled
        case .sessionUnknown: .init("session_unknown", "the broker does not know the login that sid names",
            "Enrol or register the login, or let the operator set admit_on_first_sight.")
        case .firstSightKeyNotCurrent: .init("first_sight_key_not_current",
            "the broker does not know the login that sid names, and the key of the id_token has left the key set",
            "The user logs in again. A login that is new to the broker needs a key that the identity provider still publishes.")
        case .firstSightTokenTooOld: .init("first_sight_token_too_old",
            "the broker does not know the login that sid names, and the id_token is older than first_sight_max_age",
            "The app that logged in renews its id_token, or the user logs in again. The operator can set first_sight_max_age.")
        case .firstSightTokenExpired: .init("first_sight_token_expired",
            "the broker does not know the login that sid names, the id_token is expired, and this identity provider is configured with first_sight_requires_unexpired",
            "The app that logged in renews its id_token, or exchanges it right after the login: native-sso client update --self-exchange.")
        case .subjectTokenBeforeEnd: .init("subject_token_before_end",
            "an earlier login of the same sid ended after this id_token was issued, or after its auth_time",
            RefusalRow.loginAgain)
        case .sessionEnded: .sessionEnded
        case .sessionExpired: .sessionExpired
        case .sessionIdle: .sessionIdle
        case .subjectMismatch: .init("subject_mismatch", "the login that sid names is another user's",
            "Delete the keychain items and log in again. If the refusal stays, the identity provider gives one sid to two users.")
        case .accountDisabled: .accountDisabled
        case .deviceBlocked: .deviceBlocked
        case .pinConflict: .pinConflict

        // RFC 6749 §3.3, Native SSO §4.1.
        case .scopeLacksOpenID: .init("scope_lacks_openid", .invalidScope("The scope must contain openid."),
            "the scope has no openid", "Add openid: this profile requires it in every scope parameter.")
        case .scopeEmpty: .init("scope_empty", .scopeBeyondClient, "the request names no scope, and the app has no default scope",
            "Name a scope, or let the operator set one: native-sso client update --default-scope.")
        case .scopeExceedsClient: .scopeExceedsClient
        case .scopeExceedsMember: .init("scope_exceeds_member", .scopeBeyondClient,
            "the scope is beyond the ceiling of the app's membership in the sharing group",
            "Ask for less, or let the operator raise it: native-sso group member add --scope-ceiling.")

        // The user must act: slides 6.3 for the older profiles, Native SSO draft 07 §4.4.
        case .consentRequired: .init("consent_required", .invalidScope("The scope needs the consent of the user."), inDraft07: .interactionRequired,
            "the scope needs the consent of the user, which no exchange can give",
            "The user logs in through this app, in the browser, with this scope; or ask for less.")
        case .assuranceInsufficient: .init("assurance_insufficient", inDraft07: .interactionRequired,
            "the login is weaker or older than this app's registration demands (accepted acr, maximum authentication age)",
            "The user logs in through this app, in the browser, with the acr_values and max_age that native-sso client show prints. In draft 07 the answer names them, too.")
        case .loginAfterReplay: .init("login_after_replay", inDraft07: .interactionRequired,
            "an attacker used a copy of this app's refresh token in this login, and may hold its id_token, too",
            "The user logs in again, in the browser (max_age=0), and the app exchanges the id_token of that login.")
        }
    }
}

// MARK: Rows of several grants

extension RefusalRow {
    static let assertionReplayed = ClientRefusal.assertionReplayed.row

    static let proofReplayed = RefusalRow("dpop_replayed", .invalidProof,
        "the DPoP proof was used before, at this broker or another", "Make a proof for each request, also for a retry.")

    static let clientDisabled = RefusalRow("client_disabled",
        "the requesting app is disabled", "The operator can enable it again: native-sso client enable.")

    static let clientNotInGroup = RefusalRow("client_not_in_group",
        "the requesting app is in no sharing group of this identity provider",
        "The operator adds it: native-sso group member add.")

    static let sessionEnded = RefusalRow("session_ended",
        "the login is over: the user logged out, or an operator ended it", loginAgain)

    static let sessionExpired = RefusalRow("session_expired",
        "the login has reached its absolute lifetime (sessions.absolute)", loginAgain)

    static let sessionIdle = RefusalRow("session_idle",
        "no app has used the login for longer than sessions.idle", loginAgain)

    static let accountDisabled = RefusalRow("account_disabled",
        "the identity provider has reported that the user's account is disabled",
        "The identity provider reports account-enabled, or the operator runs native-sso account enable. Then the user logs in again.")

    static let deviceBlocked = RefusalRow("device_blocked",
        "an operator has blocked the device", "The operator can unblock it: native-sso device unblock.")

    static let pinConflict = RefusalRow("pin_conflict",
        "the app used another DPoP key on this device before, or uses none now",
        "Use the key that the app made on this device. If it lost that key, the user logs in again with a new device value; if it did not, an attacker has a copy of id_token and device value.")

    static let scopeExceedsClient = RefusalRow("scope_exceeds_client", .scopeBeyondClient,
        "the scope is beyond the client's allowed scope",
        "Ask for less, or let the operator allow it: native-sso client update --allowed-scope.")

    /// An identity provider may keep `sid` and `auth_time` through a login that its own session answers. Each step
    /// applies only if the previous one did not help.
    static let loginAgain: StaticString =
        "The user logs in again in the browser, as usual. If the broker refuses that id_token, too, the app asks once with prompt=login. If that does not help, the user logs out at the identity provider and logs in again."
}

// MARK: Hand-off to a web app. One answer for all that depends on state, binding or relationship

extension HandoffRefusal: RefusalCase {
    package var row: RefusalRow {
        switch self {
        case .notAllowed: .init("handoff_not_allowed",
            "the app may not hand logins to web apps", "The operator can allow it: native-sso group member add --handoff bearer.")
        case .boundApp: .init("handoff_bound_app",
            "the app shows a DPoP key, and may hand off only logins that are not bound to a key",
            "The web app's tokens are not bound to the key of the app. If that is acceptable, the operator allows it: native-sso group member add --handoff dpop.")
        case .webAppUnusable: .init("handoff_web_app_unusable",
            "the web app is unknown, disabled or a public client, or may not exchange",
            "The operator registers it with client_secret_basic or private_key_jwt: native-sso client show.")
        case .webAppOutsideGroup: .init("handoff_web_app_outside_group",
            "the web app may not use logins of the app that logged in",
            "The operator adds the web app to the group of that app with the role target: native-sso group member add.")
        case .originNotRegistered: .init("handoff_origin_not_registered",
            "the web app does not receive logins at this origin",
            "The app opens a registered origin, or the operator registers this one: native-sso group member add --handoff-origin.")

        case .codeUnknown: .init("handoff_code_unknown",
            "the broker did not make the code of the hand-off, or made it more than an hour ago",
            "Send the code unchanged, as the browser brought it. To try again, the web app begins a new hand-off.")
        case .codeExpired: .init("handoff_code_expired",
            "the code of the hand-off is older than 60 seconds", "The web app begins a new hand-off, with a new verifier.")
        case .codeUsed: .init("handoff_code_used",
            "the code of the hand-off was redeemed before",
            "If the web app lost that answer, it begins a new hand-off. If it did not, somebody has read the code: look who else redeems it.")
        case .otherClient: .init("handoff_other_client",
            "the code of the hand-off is for another web app", "The app names the web app that it opens, in handoff_client.")
        case .otherOrigin: .init("handoff_other_origin",
            "the code of the hand-off is for another origin",
            "The web app sends the origin at which the browser brought the code. If it is right, the app opened the code at a wrong place.")
        case .wrongVerifier: .init("handoff_wrong_verifier",
            "the verifier does not fit the challenge: the code was opened in another browser than the one that began the hand-off",
            "The user begins again in this browser. If no user did this, an attacker has tried to log the user in with another account.")
        case .withdrawn: .init("handoff_withdrawn",
            "the app that handed the login off is disabled, or the group does not allow the hand-off any more",
            "The operator looks at the members of the group and at the app: native-sso group show, native-sso client show.")

        case .scopeExceedsHandoff: .init("scope_exceeds_handoff", .scopeBeyondGrant,
            "the scope is beyond the one that the app asked for when it made the code",
            "Ask for less, or name no scope. The app asks for more with its own scope parameter.")
        }
    }
}

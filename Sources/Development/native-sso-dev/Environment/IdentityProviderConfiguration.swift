import StrictCoding

/// The development identity provider's configuration file.
struct IdentityProviderConfiguration {
    let port: Int
    /// Where the broker hears of logouts.
    let backChannelLogoutURI: String

    var json: [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member("port", Int64(port))
            json.member("mode", "stamping")
            json.member(
                "clients",
                array: { json in
                    for app in SampleApp.all {
                        json.object { json in
                            json.member("client_id", app.clientID)
                            json.member("redirect_uris", [app.redirectURI])
                            json.member("backchannel_logout_uri", backChannelLogoutURI)
                        }
                    }
                })
        }
        return json.bytes
    }
}

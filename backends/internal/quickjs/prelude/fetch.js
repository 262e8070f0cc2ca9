function installFetch() {}

"""The marketplace as a service: a database, an API and a web page over the rules of `coterie.market`.

Needs the extra `service`. Nothing here is imported before it is used: `coterie.service.app` brings FastAPI,
`coterie.service.training` brings the simulation.
"""
